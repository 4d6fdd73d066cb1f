import { createHash, randomBytes } from 'node:crypto';

const bytes = 32;

/** A token for a link: 32 random bytes as base64url. What is stored is its hash. */
export function makeToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(bytes).toString('base64url');
  return { token, tokenHash: hashOfToken(token) };
}

/** SHA-256: of 256 random bits there is nothing to guess. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
