import { v7 as uuidV7 } from 'uuid';

/** The prefixes in use; each names one kind of thing. */
export type IdPrefix =
  | 'res'
  | 'wh'
  | 'evt'
  | 'dlv'
  | 'key'
  | 'ws'
  | 'req'
  | 'aud'
  | 'ntc'
  | 'rpl'
  | 'inc'
  | 'ntf'
  | 'mail'
  | 'usr'
  | 'inv'
  | 'mlr'
  | 'ses';

// Crockford's base 32: in the order of its characters' codes, so that ids sort as the UUIDs that they hold.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const values = new Map([...alphabet].map((character, value) => [character, value]));

/**
 * A new identifier: the prefix, "_" and 26 characters of base 32 that hold a UUIDv7 (RFC 9562), so that identifiers
 * compare, byte by byte, in the order of their creation to the millisecond, and those of one process in full order.
 */
export function newId(prefix: IdPrefix, atMs?: number): string {
  const bytes = uuidV7(atMs === undefined ? undefined : { msecs: atMs }, new Uint8Array(16));
  return `${prefix}_${encode(bytes)}`;
}

/** Whether `text` has the form of an identifier with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text.slice(prefix.length + 1));
}

/** Not greater than any identifier of that kind that is made at that moment or later, nor less than any earlier one. */
export function firstId(prefix: IdPrefix, atMs: number): string {
  let rest = Math.max(0, Math.floor(atMs));
  let text = '';
  for (let i = 0; i < 10; i += 1) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}_${text}`;
}

/** When an identifier was made, in milliseconds since 1970. */
export function idTime(id: string): number {
  // The first 50 bits of 130 are two zeros and the 48 bits of the time.
  let time = 0;
  for (const character of id.slice(id.indexOf('_') + 1).slice(0, 10)) time = time * 32 + (values.get(character) ?? 0);
  return time;
}

function encode(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 2; // two zero bits in front: 130 = 26 × 5
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(buffer >>> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return text;
}
