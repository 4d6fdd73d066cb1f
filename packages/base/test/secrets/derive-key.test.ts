import { randomBytes } from 'node:crypto';
import { deriveKey } from '../../src/secrets/key-ring.ts';

describe('deriveKey', () => {
  const master = randomBytes(32);

  test('returns 32 bytes that depend on the purpose and the master key only', () => {
    expect(deriveKey(master, 'cursors')).toHaveLength(32);
    expect(deriveKey(master, 'cursors')).toEqual(deriveKey(master, 'cursors'));
    expect(deriveKey(master, 'cursors')).not.toEqual(deriveKey(master, 'secrets'));
    expect(deriveKey(master, 'cursors')).not.toEqual(deriveKey(randomBytes(32), 'cursors'));
    expect(deriveKey(master, 'cursors')).not.toEqual(master);
  });
});
