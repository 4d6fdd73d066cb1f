import { hkdfSync } from 'node:crypto';

/** Keys for one purpose: the current key, and previous keys, which only open or verify. */
export type Keys = readonly [current: Buffer, ...previous: Buffer[]];

/** Master keys, usually from ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS. */
export interface KeyRing {
  /** Derives the keys for one purpose, one from each master key. */
  derive(purpose: string): Keys;
}

/**
 * Parses the current and previous master keys: 32 bytes each, in base64 or base64url. Duplicates are ignored. Throws an
 * error with a human-readable message that never contains a key.
 * @param name setting of the current key, for messages
 */
export function readKeyRing(current: string, previous: readonly string[] = [], name = 'ENCRYPTION_KEY'): KeyRing {
  const first = readMasterKey(current, name);
  const others = previous.map((text) => readMasterKey(text, `each key of ${name}_PREVIOUS`));
  const masters = others.filter((key, i) => !key.equals(first) && others.findIndex((one) => one.equals(key)) === i);
  return {
    derive: (purpose) => [deriveKey(first, purpose), ...masters.map((key) => deriveKey(key, purpose))],
  };
}

function readMasterKey(text: string, what: string): Buffer {
  const key = Buffer.from(text, 'base64');
  // Node skips characters that are not base64, so a damaged key would be accepted as a different key.
  if (!/^[A-Za-z0-9+/_-]{43}=?\s*$/.test(text) || key.length !== 32) {
    const short = key.length < 32 && /^[A-Za-z0-9+/_-]+={0,2}$/.test(text.trim()) ? ', and is too short' : '';
    throw new Error(`${what} must be 32 bytes in base64${short}; generate a key with: openssl rand -base64 32`);
  }
  return key;
}

/** Derives a 32-byte key for one purpose from the master key, by HKDF-SHA-256 (RFC 5869). */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `rms/${purpose}`, 32));
}
