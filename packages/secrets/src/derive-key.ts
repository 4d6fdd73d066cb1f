import { hkdfSync } from 'node:crypto';

/** A key for one purpose: what it makes now, and what its predecessors have made and it still takes. */
export interface KeyRing {
  /** 32 bytes. */
  readonly current: Buffer;
  readonly previous: readonly Buffer[];
}

/** A 32-byte key for one purpose, derived from the master key by HKDF-SHA-256 (RFC 5869). */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `rms/${purpose}`, 32));
}

/** The same of ENCRYPTION_KEY and of those before it. */
export function deriveKeys({ current, previous }: KeyRing, purpose: string): KeyRing {
  return { current: deriveKey(current, purpose), previous: previous.map((key) => deriveKey(key, purpose)) };
}

/** ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS. Throws a text for a person if one is no key. */
export function readKeyRing(settings: { ENCRYPTION_KEY: string; ENCRYPTION_KEY_PREVIOUS: readonly string[] }): KeyRing {
  return {
    current: readMasterKey(settings.ENCRYPTION_KEY),
    previous: settings.ENCRYPTION_KEY_PREVIOUS.map((text) => readMasterKey(text, 'ENCRYPTION_KEY_PREVIOUS')),
  };
}

/** 32 bytes in base64 or base64url. Throws a text for a person if it is anything else. */
function readMasterKey(text: string, setting = 'ENCRYPTION_KEY'): Buffer {
  const key = Buffer.from(text, 'base64');
  // Node skips what is not base64, so that a damaged key would pass for another one.
  if (!/^[A-Za-z0-9+/_-]{43}=?\s*$/.test(text) || key.length !== 32) {
    throw new Error(`${setting} must be 32 bytes in base64`);
  }
  return key;
}
