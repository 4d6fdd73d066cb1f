import { randomBytes } from 'node:crypto';
import { deriveKey, readKeyRing } from '../src/index.ts';

describe('deriveKey', () => {
  const master = randomBytes(32);

  test('gives 32 bytes, the same each time, and others for another purpose or master key', () => {
    expect(deriveKey(master, 'cursors')).toHaveLength(32);
    expect(deriveKey(master, 'cursors')).toEqual(deriveKey(master, 'cursors'));
    expect(deriveKey(master, 'cursors')).not.toEqual(deriveKey(master, 'secrets'));
    expect(deriveKey(master, 'cursors')).not.toEqual(deriveKey(randomBytes(32), 'cursors'));
    expect(deriveKey(master, 'cursors')).not.toEqual(master);
  });
});

describe('readKeyRing', () => {
  const key = randomBytes(32);
  const current = (ENCRYPTION_KEY: string) => readKeyRing({ ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS: [] }).current;

  test('reads earlier keys, and says which setting is wrong', () => {
    const text = key.toString('base64');
    const ring = readKeyRing({ ENCRYPTION_KEY: text, ENCRYPTION_KEY_PREVIOUS: [text, text] });
    expect(ring).toEqual({ current: key, previous: [key, key] });
    expect(() => readKeyRing({ ENCRYPTION_KEY: text, ENCRYPTION_KEY_PREVIOUS: ['x'] })).toThrow(
      /^ENCRYPTION_KEY_PREVIOUS must be 32 bytes in base64$/,
    );
  });

  test('reads base64 and base64url', () => {
    expect(current(key.toString('base64'))).toEqual(key);
    expect(current(key.toString('base64url'))).toEqual(key);
    expect(current(`${key.toString('base64')}\n`)).toEqual(key);
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
  ])('refuses %s, and does not repeat it', (_, text) => {
    expect(() => current(text)).toThrow(/^ENCRYPTION_KEY must be 32 bytes in base64$/);
  });
});
