import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

/** A disk of a test's own, in memory, that it may fill. */
export interface SmallDisk {
  readonly path: string;
  /** Writes a file until nothing more fits. */
  fill(): void;
  /** Removes that file. */
  free(): void;
  /** What uses it has to have ended. */
  remove(): void;
}

const fillBytes = 1024 * 1024;

/** Needs Linux and root. */
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
        // Less and less, to the last byte.
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

/** Whether all of it fitted. */
function append(file: number, bytes: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(bytes)) === bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

/** Whether this user may mount one: tried, since containers differ. */
export function canMountDisk(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = temporaryFolder('disk');
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'rms-test', folder.path], { stdio: 'ignore' });
  if (mounted.status === 0) spawnSync('umount', [folder.path], { stdio: 'ignore' });
  folder.remove();
  return mounted.status === 0;
}
