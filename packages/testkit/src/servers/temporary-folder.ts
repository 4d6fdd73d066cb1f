import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** A new folder outside of the checkout, for the data and the output of one server. */
export function temporaryFolder(name: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), `rms-${name}-`));
  // PostgreSQL runs as another user if we are root, and has to find its way to its folder.
  chmodSync(path, 0o711);
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Starts something in a new folder, which is removed again if it does not start. */
export async function inTemporaryFolder<T>(name: string, start: (folder: TemporaryFolder) => Promise<T>): Promise<T> {
  const folder = temporaryFolder(name);
  try {
    return await start(folder);
  } catch (error) {
    folder.remove();
    throw error;
  }
}
