import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

/** Creates a folder outside of the checkout, for the data and output of a server. */
export function temporaryFolder(name: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), `rms-${name}-`));
  // If this process is root, PostgreSQL runs as another user and must be able to enter the folder.
  chmodSync(path, 0o711);
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Calls `start` with a new folder, and removes the folder if `start` fails. */
export async function inTemporaryFolder<T>(name: string, start: (folder: TemporaryFolder) => Promise<T>): Promise<T> {
  const folder = temporaryFolder(name);
  try {
    return await start(folder);
  } catch (error) {
    folder.remove();
    throw error;
  }
}
