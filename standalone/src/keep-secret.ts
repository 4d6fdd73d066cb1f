import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** The secret in a file: 32 random bytes as base64url, made once, readable by its owner only. */
export function keepSecret(file: string, encoding: 'base64' | 'base64url' = 'base64url'): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Written under another name first: the file is whole or not there.
  const building = `${file}.${process.pid}`;
  writeFileSync(building, `${randomBytes(32).toString(encoding)}\n`, { mode: 0o600 });
  try {
    linkSync(building, file);
  } finally {
    rmSync(building);
  }
  return readFileSync(file, 'utf8').trim();
}
