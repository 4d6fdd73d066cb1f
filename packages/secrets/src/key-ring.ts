import { deriveKey } from './derive-key.ts';

/** Keys of one purpose: the current one, and those before it, which open what they made and make nothing. */
export type Keys = readonly [current: Buffer, ...previous: Buffer[]];

/** The master keys of ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS. */
export interface KeyRing {
  /** The keys of one purpose, one derived from each master key. */
  derive(purpose: string): Keys;
}

/**
 * Reads the current master key and the previous ones: each 32 bytes in base64 or base64url. A key that is named twice
 * counts once. Throws a text for a person, which does not repeat a key.
 */
export function readKeyRing(current: string, previous: readonly string[] = []): KeyRing {
  const first = readMasterKey(current, 'ENCRYPTION_KEY');
  const others = previous.map((text) => readMasterKey(text, 'each key of ENCRYPTION_KEY_PREVIOUS'));
  const masters = others.filter((key, i) => !key.equals(first) && others.findIndex((one) => one.equals(key)) === i);
  return {
    derive: (purpose) => [deriveKey(first, purpose), ...masters.map((key) => deriveKey(key, purpose))],
  };
}

function readMasterKey(text: string, what: string): Buffer {
  const key = Buffer.from(text, 'base64');
  // Node skips what is not base64, so that a damaged key would pass for another one.
  if (!/^[A-Za-z0-9+/_-]{43}=?\s*$/.test(text) || key.length !== 32) {
    throw new Error(`${what} must be 32 bytes in base64`);
  }
  return key;
}
