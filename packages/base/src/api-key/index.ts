import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '../tenant/index.ts';

/** Key prefixes (docs/api-guide.md, "Authentication"). */
export const keyPrefixes: Readonly<Record<Environment, string>> = { live: 'sk_live_', sandbox: 'sk_test_' };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
const shape = new RegExp(`^sk_(?:live|test)_[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** Generates a key: prefix, 32 random base-62 characters (190 bits) and a 6-character base-62 checksum of both. */
export function generateApiKey(environment: Environment): string {
  const start = keyPrefixes[environment] + randomBase62(randomLength);
  return start + checksumOf(start);
}

/**
 * Checks the prefix, length, characters and checksum of a key for this environment. Rejects a mistyped key without a
 * database lookup.
 */
export function isWellFormedApiKey(text: string, environment: Environment): boolean {
  if (!text.startsWith(keyPrefixes[environment]) || !shape.test(text)) return false;
  const start = text.slice(0, -checksumLength);
  return checksumOf(start) === text.slice(-checksumLength);
}

/** Returns a key's environment by its prefix, or undefined for any other prefix. Checks nothing else. */
export function environmentOfApiKey(text: string): Environment | undefined {
  if (text.startsWith(keyPrefixes.live)) return 'live';
  return text.startsWith(keyPrefixes.sandbox) ? 'sandbox' : undefined;
}

/** Returns the SHA-256 of the whole key, under which it is stored and looked up. 190 random bits need no slow hash. */
export function hashOfApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Returns a display hint that identifies a key but cannot be used as one: "sk_live_Ab3f…Xy9z". */
export function hintOfApiKey(key: string): string {
  return `${key.slice(0, 12)}…${key.slice(-4)}`;
}

/** Computes the CRC-32 (IEEE 802.3) of everything before the checksum, in base 62, most significant character first. */
function checksumOf(start: string): string {
  let rest = crc32(start);
  let text = '';
  for (let i = 0; i < checksumLength; i += 1) {
    text = alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    // 248 = 4 × 62. Larger bytes are rejected because they would favor the first characters.
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
  }
  return text;
}

/** Maximum time that a rolled key stays valid next to its successor. */
export const maxRollOverlapSeconds = 90 * 24 * 3_600;

/** Highest limit that a key or plan can have, in requests. */
export const maxRequestLimit = 1_000_000_000_000;
