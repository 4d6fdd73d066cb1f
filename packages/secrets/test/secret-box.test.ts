import { randomBytes } from 'node:crypto';
import { createSecretBox, SecretBoxError } from '../src/index.ts';

const key = randomBytes(32);
const box = createSecretBox(key);

describe('createSecretBox', () => {
  test('opens what it sealed, text and bytes, also empty and non-ASCII ones', () => {
    for (const plain of ['whsec_abc', '', 'Grüße 🙂', 'x'.repeat(100_000)]) {
      expect(box.open(box.seal(plain, 'wh_1'), 'wh_1').toString('utf8')).toBe(plain);
    }
    const bytes = randomBytes(64);
    expect(box.open(box.seal(bytes, 'wh_1'), 'wh_1').equals(bytes)).toBe(true);
  });

  test('opens a view into a larger buffer, as a database driver hands it out', () => {
    const sealed = box.seal('secret', 'wh_1');
    const larger = Buffer.concat([Buffer.from('before'), sealed, Buffer.from('after')]);
    expect(box.open(larger.subarray(6, 6 + sealed.length), 'wh_1').toString()).toBe('secret');
    expect(box.open(new Uint8Array(sealed), 'wh_1').toString()).toBe('secret');
  });

  test('seals the same text differently each time, and never shows it', () => {
    const sealed = Array.from({ length: 100 }, () => box.seal('a secret text', 'wh_1').toString('latin1'));
    expect(new Set(sealed).size).toBe(100);
    expect(sealed.some((one) => one.includes('secret'))).toBe(false);
  });

  test('a box of the same key opens it; one of another key says so', () => {
    const sealed = box.seal('secret', 'wh_1');
    expect(createSecretBox(Buffer.from(key)).open(sealed, 'wh_1').toString()).toBe('secret');
    const other = createSecretBox(randomBytes(32));
    expect(other.keyId).not.toBe(box.keyId);
    const said = `it was sealed with the key ${box.keyId}, which is not among those configured`;
    expect(() => other.open(sealed, 'wh_1')).toThrow(new SecretBoxError(said));
  });

  test('does not open for another owner', () => {
    expect(() => box.open(box.seal('secret', 'wh_1'), 'wh_2')).toThrow(SecretBoxError);
  });

  test('a change of any byte is noticed, and the error shows nothing of the secret', () => {
    const sealed = box.seal('the secret text', 'wh_1');
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      const error = failureOf(() => box.open(changed, 'wh_1'));
      expect(error).toBeInstanceOf(SecretBoxError);
      expect(error.message).not.toContain('secret text');
      expect(error.cause).toBeUndefined();
    }
  });

  test('what is cut short does not open', () => {
    const sealed = box.seal('secret', 'wh_1');
    for (let length = 0; length < sealed.length; length++) {
      expect(() => box.open(sealed.subarray(0, length), 'wh_1')).toThrow(SecretBoxError);
    }
  });

  test('refuses a key of the wrong length', () => {
    for (const length of [0, 16, 31, 33]) {
      expect(() => createSecretBox(randomBytes(length))).toThrow(SecretBoxError);
      expect(() => createSecretBox(key, [randomBytes(length)])).toThrow(SecretBoxError);
    }
  });

  test('after a rotation seals with the current key, and opens what any of the others sealed', () => {
    const [older, newer] = [randomBytes(32), randomBytes(32)];
    const rotated = createSecretBox(newer, [key, older, key, newer]);
    const ids = [newer, key, older].map((one) => createSecretBox(one).keyId);
    expect(rotated.keyId).toBe(ids[0]);
    expect([...rotated.keyIds].sort()).toEqual([...ids].sort());
    for (const one of [older, key, newer]) {
      const sealed = createSecretBox(one).seal('secret', 'wh_1');
      expect(rotated.open(sealed, 'wh_1').toString()).toBe('secret');
      expect(() => rotated.open(sealed, 'wh_2')).toThrow(SecretBoxError);
      expect(rotated.isCurrent(sealed)).toBe(one === newer);
    }
    const sealed = rotated.seal('secret', 'wh_1');
    expect(rotated.isCurrent(sealed)).toBe(true);
    expect(rotated.isCurrent(Buffer.alloc(0))).toBe(false);
    expect(createSecretBox(newer).open(sealed, 'wh_1').toString()).toBe('secret');
    expect(() => createSecretBox(key, [older]).open(sealed, 'wh_1')).toThrow(ids[0]);
  });
});

function failureOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}
