import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export type KeyEnvironment = 'live' | 'sandbox';

/** Prefixes of the specification, "Authentication" 4. */
const prefixes: Readonly<Record<KeyEnvironment, string>> = { live: 'sk_live_', sandbox: 'sk_test_' };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 32;
const checksumLength = 6;
const shape = new RegExp(`^sk_(?:live|test)_[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** A new key: prefix, 32 random base-62 characters (190 bits), and the checksum of all that, 6 base-62 characters. */
export function generateApiKey(environment: KeyEnvironment): string {
  const start = prefixes[environment] + randomBase62(randomLength);
  return start + checksumOf(start);
}

/**
 * Whether `text` is a key of this environment as far as its form can tell: prefix, length, characters, checksum. A typo
 * fails here, without a look-up.
 */
export function isWellFormedApiKey(text: string, environment: KeyEnvironment): boolean {
  if (!text.startsWith(prefixes[environment]) || !shape.test(text)) return false;
  const start = text.slice(0, -checksumLength);
  return checksumOf(start) === text.slice(-checksumLength);
}

/** SHA-256 of the whole key: what is stored and looked up. 190 random bits need no slow hash. */
export function hashOfApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Enough to recognise a key by, too little to use it: "sk_live_Ab3f…Xy9z". */
export function hintOfApiKey(key: string): string {
  return `${key.slice(0, 12)}…${key.slice(-4)}`;
}

/** CRC-32 (IEEE 802.3) of everything before the checksum, as base 62, most significant character first. */
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
    // 248 = 4 × 62: larger bytes would favour the first characters.
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
  }
  return text;
}
