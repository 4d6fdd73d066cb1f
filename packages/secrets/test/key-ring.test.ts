import { randomBytes } from 'node:crypto';
import { deriveKey } from '../src/derive-key.ts';
import { readKeyRing } from '../src/index.ts';

describe('readKeyRing', () => {
  const key = randomBytes(32);
  const [current, ...previous] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64'));

  test('reads base64 and base64url', () => {
    for (const text of [key.toString('base64'), key.toString('base64url'), `${key.toString('base64')}\n`]) {
      expect(readKeyRing(text).derive('secrets')).toEqual([deriveKey(key, 'secrets')]);
      expect(readKeyRing(current as string, [text]).derive('secrets')[1]).toEqual(deriveKey(key, 'secrets'));
    }
  });

  test('gives the keys of one purpose, the current one first', () => {
    const ring = readKeyRing(current as string, previous);
    const expected = [current, ...previous].map((text) => deriveKey(Buffer.from(text as string, 'base64'), 'cursors'));
    expect(ring.derive('cursors')).toEqual(expected);
    expect(ring.derive('secrets')[0]).not.toEqual(expected[0]);
  });

  test('a key that is named twice, or is current and previous, counts once', () => {
    const twice = [...previous, current as string, ...previous];
    expect(readKeyRing(current as string, twice).derive('x')).toEqual(
      readKeyRing(current as string, previous).derive('x'),
    );
  });

  test.each([
    ['nothing', ''],
    ['a key that is too short', randomBytes(31).toString('base64')],
    ['a key that is too long', randomBytes(33).toString('base64')],
    ['hexadecimal', key.toString('hex')],
    ['a passphrase', 'correct horse battery staple correct horse!!'],
    [
      'a key with a character that is none',
      `${key.toString('base64').slice(0, 20)}*${key.toString('base64').slice(20)}`,
    ],
  ])('refuses %s, says which setting it is, and does not repeat it', (_, text) => {
    expect(() => readKeyRing(text)).toThrow(/^ENCRYPTION_KEY must be 32 bytes in base64$/);
    expect(() => readKeyRing(current as string, [...previous, text])).toThrow(
      /^each key of ENCRYPTION_KEY_PREVIOUS must be 32 bytes in base64$/,
    );
  });
});
