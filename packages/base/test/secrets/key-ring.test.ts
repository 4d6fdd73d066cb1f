import { randomBytes } from 'node:crypto';
import { readKeyRing } from '../../src/secrets/index.ts';
import { deriveKey } from '../../src/secrets/key-ring.ts';

describe('readKeyRing', () => {
  const key = randomBytes(32);
  const [current, ...previous] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64'));

  test('reads base64 and base64url', () => {
    for (const text of [key.toString('base64'), key.toString('base64url'), `${key.toString('base64')}\n`]) {
      expect(readKeyRing(text).derive('secrets')).toEqual([deriveKey(key, 'secrets')]);
      expect(readKeyRing(current as string, [text]).derive('secrets')[1]).toEqual(deriveKey(key, 'secrets'));
    }
  });

  test('derives the keys for a purpose, the current key first', () => {
    const ring = readKeyRing(current as string, previous);
    const expected = [current, ...previous].map((text) => deriveKey(Buffer.from(text as string, 'base64'), 'cursors'));
    expect(ring.derive('cursors')).toEqual(expected);
    expect(ring.derive('secrets')[0]).not.toEqual(expected[0]);
  });

  test('ignores duplicate keys', () => {
    const twice = [...previous, current as string, ...previous];
    expect(readKeyRing(current as string, twice).derive('x')).toEqual(
      readKeyRing(current as string, previous).derive('x'),
    );
  });

  test.each(['abc', randomBytes(31).toString('base64')])('tells that a short key is too short', (text) => {
    expect(() => readKeyRing(text)).toThrow('ENCRYPTION_KEY must be 32 bytes in base64, and is too short; ');
  });

  test.each([
    ['nothing', ''],
    ['a key that is too short', randomBytes(31).toString('base64')],
    ['a key that is too long', randomBytes(33).toString('base64')],
    ['hexadecimal', key.toString('hex')],
    ['a passphrase', 'correct horse battery staple correct horse!!'],
    ['a key with an invalid character', `${key.toString('base64').slice(0, 20)}*${key.toString('base64').slice(20)}`],
  ])('rejects %s, names the setting, and does not expose the key', (_, text) => {
    expect(() => readKeyRing(text)).toThrow(
      /^ENCRYPTION_KEY must be 32 bytes in base64(?:, and is too short)?; generate a key with: openssl rand -base64 32$/,
    );
    expect(() => readKeyRing(current as string, [...previous, text])).toThrow(
      /^each key of ENCRYPTION_KEY_PREVIOUS must be 32 bytes in base64[;,]/,
    );
  });
});
