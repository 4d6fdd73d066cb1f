import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Cost of a computation (RFC 9106, 3.1). */
export interface Argon2idCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

const saltBytes = 16;
const tagBytes = 32;
/**
 * `$argon2id$v=19$m=32768,t=3,p=1$<salt>$<tag>`. Salt and tag are base64 without padding and have at least 8 and 4
 * bytes (RFC 9106).
 */
const phcString = /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,5}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{6,})$/;
/** Runs on libuv's threads, not on the event loop. */
const compute = promisify(argon2);

/** Hashes a password with a random salt. Returns a PHC string. */
export async function hashArgon2id(password: string, cost: Argon2idCost): Promise<string> {
  const salt = randomBytes(saltBytes);
  return phcPrefix(cost) + encode(salt, await tagOf(password, cost, salt, tagBytes));
}

/** Returns whether the password matches the PHC string. Throws unless it is a PHC string of Argon2id, version 19. */
export async function verifyArgon2id(phc: string, password: string): Promise<boolean> {
  const parts = phcString.exec(phc);
  if (!parts) throw new Error('not a PHC string of Argon2id, version 19');
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts;
  const cost = { memoryKib: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const expected = Buffer.from(tag, 'base64');
  return timingSafeEqual(await tagOf(password, cost, Buffer.from(salt, 'base64'), expected.length), expected);
}

/** Returns a random PHC string of this cost, which no known password matches. */
export function unmatchedArgon2id(cost: Argon2idCost): string {
  return phcPrefix(cost) + encode(randomBytes(saltBytes), randomBytes(tagBytes));
}

/** Returns the prefix of all PHC strings of this cost, up to the salt. */
export function phcPrefix(cost: Argon2idCost): string {
  return `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=${cost.parallelism}$`;
}

function tagOf(password: string, cost: Argon2idCost, salt: Buffer, tagLength: number): Promise<Buffer> {
  const { memoryKib: memory, passes, parallelism } = cost;
  return compute('argon2id', { message: password, nonce: salt, memory, passes, parallelism, tagLength });
}

function encode(salt: Buffer, tag: Buffer): string {
  return [salt, tag].map((bytes) => bytes.toString('base64').replaceAll('=', '')).join('$');
}
