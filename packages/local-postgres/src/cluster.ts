import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Binaries, majorVersion } from './binaries.ts';
import type { Launch, User } from './unprivileged.ts';

/** Creates the data directory if it is missing. Throws if an existing directory belongs to another major version. */
export async function ensureCluster(options: {
  readonly directory: string;
  readonly password: string;
  readonly binaries: Binaries;
  readonly launch: Launch;
  readonly user: User | undefined;
  readonly logFile: string;
}): Promise<void> {
  const { directory, binaries } = options;
  if (!existsSync(directory)) return makeCluster(options);
  const dataVersion = readDataVersion(directory);
  const binaryVersion = await majorVersion(binaries);
  if (dataVersion !== binaryVersion) {
    throw new Error(
      `${directory} contains data of PostgreSQL ${dataVersion}, but this release includes ${binaryVersion}; ` +
        'migrate the data with pg_dump, or set DATA_DIR to another folder',
    );
  }
}

/** Opens the log of PostgreSQL, which contains values of failed statements, so that only its owner can read it. */
export function openLog(file: string): number {
  const log = openSync(file, 'a', 0o600);
  // A previous release may have created it.
  fchmodSync(log, 0o600);
  return log;
}

function readDataVersion(directory: string): string {
  try {
    return readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'is not a PostgreSQL data directory' : `cannot be read (${code})`;
    throw new Error(`${directory} ${reason}; move the folder, or set DATA_DIR to another folder`);
  }
}

/**
 * Creates the cluster under a temporary name and renames it when complete, so that an interrupted start leaves no
 * partial directory.
 */
async function makeCluster(options: Parameters<typeof ensureCluster>[0]): Promise<void> {
  const { directory, password, binaries, launch, user, logFile } = options;
  const building = `${directory}.new`;
  const passwordFile = `${directory}.new.password`;
  rmSync(building, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  mkdirSync(building, { mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const path of [building, passwordFile]) chownSync(path, user.uid, user.gid);
  const args = ['-D', building, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  args.push('--encoding=UTF8', '--no-locale', '--no-instructions');
  const log = openLog(logFile);
  try {
    const child = launch(binaries.initdb, args, { cwd: '/', env: postgresEnv, stdio: ['ignore', log, log] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`initdb could not create ${directory}; see ${logFile}`);
    renameSync(building, directory);
  } finally {
    closeSync(log);
    rmSync(passwordFile, { force: true });
  }
}

/** Environment of PostgreSQL's programs. It excludes variables such as PGHOST, which would change their behavior. */
export const postgresEnv = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
