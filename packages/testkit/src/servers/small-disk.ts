import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

/** An in-memory file system owned by a test, which may fill it. */
export interface SmallDisk {
  readonly path: string;
  /** Writes a file until the file system is full. */
  fill(): void;
  /** Removes that file. */
  free(): void;
  /** Unmounts the file system. Processes that use it must have exited. */
  remove(): void;
}

const fillBytes = 1024 * 1024;

/** Mounts a file system of this size. Requires Linux and root. */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = temporaryFolder('disk');
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'rms-test', folder.path], {
      stdio: 'pipe',
    });
  } catch (error) {
    folder.remove();
    throw error;
  }
  const filler = join(folder.path, 'filler');
  return {
    path: folder.path,
    fill() {
      const file = openSync(filler, 'a');
      try {
        // Halve the size until the last byte is used.
        for (let bytes = fillBytes; bytes >= 1; ) if (!append(file, bytes)) bytes = Math.floor(bytes / 2);
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('umount', [folder.path], { stdio: 'pipe' });
      folder.remove();
    },
  };
}

/** Returns whether all bytes were written. */
function append(file: number, bytes: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(bytes)) === bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

/** Returns whether this user can mount a file system. Mounts one to find out, because containers differ. */
export function canMountDisk(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = temporaryFolder('disk');
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'rms-test', folder.path], { stdio: 'ignore' });
  if (mounted.status === 0) spawnSync('umount', [folder.path], { stdio: 'ignore' });
  folder.remove();
  return mounted.status === 0;
}
