import { createHash, randomBytes } from 'node:crypto';

const bytes = 32;

/** Generates a link token: 32 random bytes as base64url. Only its hash is stored. */
export function makeToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(bytes).toString('base64url');
  return { token, tokenHash: hashOfToken(token) };
}

/** Returns the SHA-256 of a token. A token has 256 random bits, so it needs no slow hash. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
