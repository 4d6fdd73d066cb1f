import { randomBytes } from 'node:crypto';
import { deriveKey } from '../src/derive-key.ts';

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
