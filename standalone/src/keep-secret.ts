import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** Returns 32 random bytes, for the gRPC calls of a start. */
export function makeToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the secret in a file: 32 random bytes, created once, readable only by the owner. */
export function keepSecret(file: string, encoding: 'base64' | 'base64url' = 'base64url'): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Written to a temporary file and linked, so that the file is never incomplete.
  const building = `${file}.${process.pid}`;
  writeFileSync(building, `${randomBytes(32).toString(encoding)}\n`, { mode: 0o600 });
  try {
    linkSync(building, file);
  } finally {
    rmSync(building);
  }
  return readFileSync(file, 'utf8').trim();
}
