import { v7 as uuidV7 } from 'uuid';

/** ID prefixes; each identifies one type of object. */
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
  | 'chn'
  | 'ntf'
  | 'mail'
  | 'usr'
  | 'inv'
  | 'mlr'
  | 'ses'
  | 'pts';

// Crockford's base 32. Its characters are in the order of their codes, so that IDs sort like the UUIDs that they
// encode.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const values = new Map([...alphabet].map((character, value) => [character, value]));

/** Creates IDs; see {@link createIds}. */
export type Ids = (prefix: IdPrefix) => string;

/**
 * If the clock is set back by less than this, the time in IDs stands still until the clock has caught up, so that IDs
 * stay sorted. After a larger step, IDs follow the clock: otherwise, a single jump ahead would keep them in the future.
 */
const maxHoldMs = 10_000;

/**
 * Creates a source of IDs with the time of `nowMs`, in milliseconds since 1970. An ID is the prefix, "_" and 26 base-32
 * characters that encode a UUIDv7 (RFC 9562). Compared byte by byte, IDs sort by creation time in milliseconds. IDs of
 * one source sort in exact creation order, unless its clock is set back by 10 seconds or more.
 */
export function createIds(nowMs: () => number): Ids {
  let lastMs = Number.NEGATIVE_INFINITY;
  let sequence = 0;
  return (prefix) => {
    const now = nowMs();
    if (now > lastMs || lastMs - now >= maxHoldMs) {
      lastMs = now;
      // Half of the range remains for IDs of the same millisecond.
      sequence = Math.floor(Math.random() * 2 ** 31);
    } else {
      sequence = (sequence + 1) >>> 0;
      if (sequence === 0) lastMs += 1;
    }
    return `${prefix}_${encode(uuidV7({ msecs: lastMs, seq: sequence }, new Uint8Array(16)))}`;
  };
}

const nextId = createIds(() => Date.now());

/**
 * Creates an ID with the time of this machine, or with `atMs`, in milliseconds since 1970. See {@link createIds} for
 * its form and order; IDs with the same `atMs` have no order.
 */
export function newId(prefix: IdPrefix, atMs?: number): string {
  return atMs === undefined ? nextId(prefix) : createIds(() => atMs)(prefix);
}

/** 128 bits: the first of 26 characters has three. */
const body = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** Returns the pattern of IDs with one of these prefixes, as a regular expression for a whole text. */
export function idPattern(...prefixes: readonly IdPrefix[]): string {
  const prefix = prefixes.length === 1 ? prefixes[0] : `(?:${prefixes.join('|')})`;
  return `^${prefix}_${body.source.slice(1)}`;
}

/** Returns whether `text` has the form of an ID with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && body.test(text.slice(prefix.length + 1));
}

/** Returns the validation error message for a value that is not an ID with one of these prefixes. */
export function mustBeId(...prefixes: readonly [IdPrefix, ...IdPrefix[]]): string {
  const starts = prefixes.map((prefix) => `"${prefix}_"`);
  const last = starts.length > 1 ? ` or ${starts.pop()}` : '';
  return `must be an ID: ${starts.join(', ')}${last} and 26 characters, such as ${idExample(prefixes[0])}`;
}

/** Returns an ID with this prefix for documents and messages. */
export function idExample(prefix: IdPrefix): string {
  return `${prefix}_01jc3v9m0w7y8x2k4n6p8q0r2s`;
}

/**
 * Returns a lower bound for IDs: at most equal to every ID created at or after `atMs`, and greater than every earlier
 * ID.
 */
export function firstId(prefix: IdPrefix, atMs: number): string {
  let rest = Math.max(0, Math.floor(atMs));
  let text = '';
  for (let i = 0; i < 10; i += 1) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}_${text}`;
}

/** Returns the creation time of an ID, in milliseconds since 1970. */
export function idTime(id: string): number {
  // The first 50 of 130 bits are two zeros and the 48-bit timestamp.
  let time = 0;
  for (const character of id.slice(id.indexOf('_') + 1).slice(0, 10)) time = time * 32 + (values.get(character) ?? 0);
  return time;
}

function encode(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 2; // two leading zero bits: 130 = 26 × 5
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
