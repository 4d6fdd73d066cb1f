import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { createSecretBox, type SealContext, SecretBoxError } from '../../src/secrets/index.ts';

const key = randomBytes(32);
const box = createSecretBox(key);
const webhook = { purpose: 'webhook secret', workspaceId: 'ws_1', environment: 'live', id: 'wh_1' };

/** Seals as the first format did, with one text as context. */
function sealInFirstFormat(plain: string, context: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  const keyId = createHash('sha256').update('rms key id').update(key).digest().subarray(0, 4);
  return Buffer.concat([keyId, iv, cipher.getAuthTag(), text]);
}

describe('createSecretBox', () => {
  test('opens sealed texts and bytes, including empty and non-ASCII texts', () => {
    for (const plain of ['whsec_abc', '', 'Grüße 🙂', 'x'.repeat(100_000)]) {
      expect(box.open(box.seal(plain, webhook), webhook).toString('utf8')).toBe(plain);
    }
    const bytes = randomBytes(64);
    expect(box.open(box.seal(bytes, webhook), webhook).equals(bytes)).toBe(true);
  });

  test('opens a view into a larger buffer, as returned by a database driver', () => {
    const sealed = box.seal('secret', webhook);
    const larger = Buffer.concat([Buffer.from('before'), sealed, Buffer.from('after')]);
    expect(box.open(larger.subarray(6, 6 + sealed.length), webhook).toString()).toBe('secret');
    expect(box.open(new Uint8Array(sealed), webhook).toString()).toBe('secret');
  });

  test('seals the same text differently each time, and never exposes it', () => {
    const sealed = Array.from({ length: 100 }, () => box.seal('a secret text', webhook).toString('latin1'));
    expect(new Set(sealed).size).toBe(100);
    expect(sealed.some((one) => one.includes('secret'))).toBe(false);
  });

  test('a box with the same key opens sealed data; a box with another key reports an unknown key', () => {
    const sealed = box.seal('secret', webhook);
    expect(createSecretBox(Buffer.from(key)).open(sealed, webhook).toString()).toBe('secret');
    const other = createSecretBox(randomBytes(32));
    expect(other.keyId).not.toBe(box.keyId);
    const expectedMessage = `it was sealed with the key ${box.keyId}, which is not configured`;
    expect(() => other.open(sealed, webhook)).toThrow(new SecretBoxError(expectedMessage));
  });

  test.each<[string, Partial<SealContext>]>([
    ['purpose', { purpose: 'webhook client key' }],
    ['workspace', { workspaceId: 'ws_2' }],
    ['environment', { environment: 'sandbox' }],
    ['ID', { id: 'wh_2' }],
    ['split of the same texts', { workspaceId: 'ws_1","live', environment: undefined }],
  ])('does not open with another %s', (_, change) => {
    expect(() => box.open(box.seal('secret', webhook), { ...webhook, ...change })).toThrow(SecretBoxError);
  });

  test('opens data of the first format, whose key ID is not the current key ID', () => {
    const sealed = sealInFirstFormat('secret', 'wh_1');
    expect(box.open(sealed, webhook).toString()).toBe('secret');
    expect(() => box.open(sealed, { ...webhook, id: 'wh_2' })).toThrow(SecretBoxError);
    const factor = { purpose: 'second factor', id: 'usr_1', firstFormat: 'second factor usr_1' };
    expect(box.open(sealInFirstFormat('secret', 'second factor usr_1'), factor).toString()).toBe('secret');
    expect(box.isCurrent(sealed)).toBe(false);
    expect(box.keyIds).toEqual([box.keyId, sealed.toString('hex', 0, 4)]);
    expect(box.isCurrent(box.seal(box.open(sealed, webhook), webhook))).toBe(true);
  });

  test('detects a change of any byte, and the error does not expose the secret', () => {
    const sealed = box.seal('the secret text', webhook);
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      const error = failureOf(() => box.open(changed, webhook));
      expect(error).toBeInstanceOf(SecretBoxError);
      expect(error.message).not.toContain('secret text');
      expect(error.cause).toBeUndefined();
    }
  });

  test('does not open truncated data', () => {
    const sealed = box.seal('secret', webhook);
    for (let length = 0; length < sealed.length; length++) {
      expect(() => box.open(sealed.subarray(0, length), webhook)).toThrow(SecretBoxError);
    }
  });

  test('rejects a key of the wrong length', () => {
    for (const length of [0, 16, 31, 33]) {
      expect(() => createSecretBox(randomBytes(length))).toThrow(SecretBoxError);
      expect(() => createSecretBox(key, [randomBytes(length)])).toThrow(SecretBoxError);
    }
  });

  test('after a rotation, seals with the current key and opens with any key', () => {
    const [older, newer] = [randomBytes(32), randomBytes(32)];
    const rotated = createSecretBox(newer, [key, older, key, newer]);
    const ids = [newer, key, older].map((one) => createSecretBox(one).keyId);
    expect(rotated.keyId).toBe(ids[0]);
    expect(rotated.keyIds).toEqual(expect.arrayContaining(ids));
    expect(rotated.keyIds).toHaveLength(6);
    for (const one of [older, key, newer]) {
      const sealed = createSecretBox(one).seal('secret', webhook);
      expect(rotated.open(sealed, webhook).toString()).toBe('secret');
      expect(() => rotated.open(sealed, { ...webhook, id: 'wh_2' })).toThrow(SecretBoxError);
      expect(rotated.isCurrent(sealed)).toBe(one === newer);
    }
    const sealed = rotated.seal('secret', webhook);
    expect(rotated.isCurrent(sealed)).toBe(true);
    expect(rotated.isCurrent(Buffer.alloc(0))).toBe(false);
    expect(createSecretBox(newer).open(sealed, webhook).toString()).toBe('secret');
    expect(() => createSecretBox(key, [older]).open(sealed, webhook)).toThrow(ids[0]);
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
