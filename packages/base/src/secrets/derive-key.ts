import { hkdfSync } from 'node:crypto';

/** Derives a 32-byte key for one purpose from the master key, by HKDF-SHA-256 (RFC 5869). */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `rms/${purpose}`, 32));
}
