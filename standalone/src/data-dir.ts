import { accessSync, constants, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder that npm start keeps everything in, held by this process. */
export interface DataDir {
  /** Absolute. */
  readonly path: string;
  /** Tells the rms command where the services listen; only the owner can read it. */
  writeServices(addresses: Readonly<Record<string, string>>): void;
  /** Lets another start have it. */
  release(): void;
}

/** Makes the folder if needed and locks it. Fails in one line if it can't be used, or another start holds it. */
export function openDataDir(setting: string): DataDir {
  const path = resolve(setting);
  try {
    mkdirSync(path, { recursive: true });
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`DATA_DIR ${path} cannot be used: ${reasonOf(error)}`);
  }
  const lockFile = join(path, 'lock');
  const servicesFile = join(path, 'services.json');
  lock(lockFile, path);
  return {
    path,
    writeServices(addresses) {
      const building = `${servicesFile}.new`;
      rmSync(building, { force: true });
      writeFileSync(building, `${JSON.stringify(addresses, null, 2)}\n`, { mode: 0o600 });
      renameSync(building, servicesFile);
    },
    release() {
      rmSync(servicesFile, { force: true });
      rmSync(lockFile, { force: true });
    },
  };
}

/** The lock file names the process that holds it, and is worth nothing once that process is gone. */
function lock(lockFile: string, path: string): void {
  const ours = identityOf(process.pid) ?? `${process.pid}`;
  const building = `${lockFile}.${process.pid}`;
  writeFileSync(building, ours);
  try {
    for (let tries = 0; tries < 3; tries++) {
      try {
        linkSync(building, lockFile);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = readFileSync(lockFile, 'utf8');
      const pid = Number.parseInt(holder, 10);
      if (identityOf(pid) === holder)
        throw new Error(`DATA_DIR ${path} is in use by another npm start (process ${pid})`);
      rmSync(lockFile, { force: true });
    }
    throw new Error(`DATA_DIR ${path} is in use by another npm start`);
  } finally {
    rmSync(building, { force: true });
  }
}

/** A text that no other process ever has, where the system tells when a process began; undefined if it is gone. */
function identityOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  if (process.platform !== 'linux') return `${pid}`;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    const startTime = fields[19];
    return state === 'Z' ? undefined : `${pid} ${startTime}`;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'this user may not write there';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'it is not a folder';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return message;
  }
}
