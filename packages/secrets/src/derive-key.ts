import { hkdfSync } from 'node:crypto';

/** A 32-byte key for one purpose, derived from the master key by HKDF-SHA-256 (RFC 5869). */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `rms/${purpose}`, 32));
}

/** ENCRYPTION_KEY: 32 bytes in base64 or base64url. Throws a text for a person if it is anything else. */
export function readMasterKey(text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  // Node skips what is not base64, so that a damaged key would pass for another one.
  if (!/^[A-Za-z0-9+/_-]{43}=?\s*$/.test(text) || key.length !== 32)
    throw new Error('ENCRYPTION_KEY must be 32 bytes in base64');
  return key;
}
