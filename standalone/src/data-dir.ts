import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ShownSetting } from '@rms/runtime/settings';

/** Data directory of npm start, locked by this process. */
export interface DataDir {
  /** Absolute path. */
  readonly path: string;
  /**
   * Writes the service addresses, the token of gRPC calls, and the settings without secrets, for the `rms` command.
   * Only the owner can read the file.
   */
  writeServices(
    addresses: Readonly<Record<string, string>>,
    more?: { readonly token: string; readonly settings: readonly ShownSetting[] },
  ): void;
  /** Releases the lock. */
  release(): void;
}

/**
 * Creates the directory if needed and locks it. Throws a one-line error if it is unusable or locked by another process.
 */
export function openDataDir(setting: string): DataDir {
  const path = resolve(setting);
  try {
    makeFolder(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`Cannot use DATA_DIR ${path}: ${reasonOf(error)}.`);
  }
  const lockFile = join(path, 'lock');
  const servicesFile = join(path, 'services.json');
  lock(lockFile, path);
  return {
    path,
    writeServices(addresses, more) {
      const building = `${servicesFile}.new`;
      rmSync(building, { force: true });
      writeFileSync(building, `${JSON.stringify({ ...addresses, ...more }, null, 2)}\n`, {
        mode: 0o600,
      });
      renameSync(building, servicesFile);
    },
    release() {
      rmSync(servicesFile, { force: true });
      rmSync(lockFile, { force: true });
    },
  };
}

/**
 * Creates a folder that only its owner can enter, and its missing parents. The recursive mode of mkdirSync() does not return for a folder in /proc
 * (Node 24).
 */
function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, folder === path ? { mode: 0o700 } : {});
    } catch (error) {
      // Another process may have created it.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  if (!statSync(path).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
}

/** Attempts, because another process can take or release the lock at the same time. */
const maxTries = 10;

/**
 * Takes the lock `file`. The file identifies the process that holds the lock. The lock is stale once that
 * process exits.
 *
 * Only the process that holds the lock `lock.after-<digest of the stale holder>` may replace a stale lock, and only
 * while the file still names that holder. Otherwise, two processes could both find the lock stale, and the second
 * process would replace the new lock of the first.
 */
function lock(file: string, path: string): void {
  const ours = identityOf(process.pid) ?? `${process.pid}`;
  const building = `${file}.${randomUUID()}`;
  for (let tries = 0; tries < maxTries; tries += 1) {
    try {
      writeFileSync(building, ours, { mode: 0o600 });
      linkSync(building, file);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(building, { force: true });
    }
    const holder = readIfExists(file);
    if (holder === undefined) continue;
    const pid = Number.parseInt(holder, 10);
    if (identityOf(pid) === holder)
      throw new Error(
        `DATA_DIR ${path} is in use by another npm start (process ${pid}). Stop it, or set DATA_DIR to another folder.`,
      );
    const successor = join(path, `lock.after-${createHash('sha256').update(holder).digest('hex').slice(0, 16)}`);
    lock(successor, path);
    try {
      if (readIfExists(file) !== holder) continue;
      writeFileSync(building, ours, { mode: 0o600 });
      renameSync(building, file);
      return;
    } finally {
      rmSync(successor, { force: true });
    }
  }
  throw new Error(`DATA_DIR ${path} is in use by another npm start. Stop it, or set DATA_DIR to another folder.`);
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Returns an identity of a process: its ID, and on Linux also its start time, which distinguishes it from a later
 * process with the same ID. Undefined if the process does not exist.
 */
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
      return 'permission denied';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'it is not a directory';
    case 'ENOENT':
      return 'a folder cannot be created there';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return message;
  }
}
