import fc from 'fast-check';
import { generateApiKey, hashOfApiKey, hintOfApiKey, isWellFormedApiKey } from '../../src/api-key/index.ts';

const environments = ['live', 'sandbox'] as const;

const hostile = ['sk_live_', 'sk_live_a', 'a', '0', ' ', '\n', '_', '\ud800'].flatMap((part) =>
  ['', 'sk_live_', 'sk_test_'].map((head) => head + part.repeat(65_536 / part.length)),
);

test.each(hostile)('rejects a text of 64 KiB (%#)', (text) => {
  expect([isWellFormedApiKey(text, 'live'), isWellFormedApiKey(text, 'sandbox')]).toEqual([false, false]);
});

describe('API keys', () => {
  test('a key starts with sk_live_ or sk_test_ and is well-formed in its own environment only', () => {
    for (const environment of environments) {
      const key = generateApiKey(environment);
      expect(key).toMatch(environment === 'live' ? /^sk_live_[0-9A-Za-z]{38}$/ : /^sk_test_[0-9A-Za-z]{38}$/);
      expect(environments.filter((one) => isWellFormedApiKey(key, one))).toEqual([environment]);
    }
  });

  test('no two keys are the same', () => {
    const keys = new Set(Array.from({ length: 500 }, () => generateApiKey('live')));
    expect(keys.size).toBe(500);
  });

  test('the checksum detects any single changed character', () => {
    const key = generateApiKey('live');
    const character = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
    fc.assert(
      fc.property(fc.integer({ min: 8, max: key.length - 1 }), character, (at, other) => {
        fc.pre(key[at] !== other);
        return !isWellFormedApiKey(key.slice(0, at) + other + key.slice(at + 1), 'live');
      }),
    );
  });

  test('other texts are not well-formed', () => {
    fc.assert(fc.property(fc.string(), (text) => !isWellFormedApiKey(text, 'live')));
    const key = generateApiKey('live');
    for (const text of [`${key} `, ` ${key}`, `${key}\n`, key.slice(1), `${key}0`, key.toUpperCase()]) {
      expect(isWellFormedApiKey(text, 'live')).toBe(false);
    }
  });

  test('the hint reveals too little to use the key, and the hash reveals nothing', () => {
    const key = generateApiKey('sandbox');
    expect(hintOfApiKey(key)).toBe(`${key.slice(0, 12)}…${key.slice(-4)}`);
    expect(hashOfApiKey(key)).toHaveLength(32);
    expect(hashOfApiKey(key).equals(hashOfApiKey(key))).toBe(true);
  });
});
