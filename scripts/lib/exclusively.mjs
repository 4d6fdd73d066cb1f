// One installation or bundle of a checkout at a time. Plain Node, no dependencies.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const lockFile = fileURLToPath(new URL('../../.prepare.lock', import.meta.url));
const pollMs = 200;
/** Longer than any installation. The ID of an ended process may then belong to another one. */
const maxAgeMs = 30 * 60_000;

/**
 * Runs `work` unless `isDone`, while no other process prepares this checkout. Otherwise waits until that process has
 * finished, or exited without finishing, and checks again.
 * @param {() => boolean} isDone
 * @param {() => void} work
 * @param {string} file the lock
 */
export function exclusively(isDone, work, file = lockFile) {
  if (isDone()) return;
  lock(file);
  try {
    if (!isDone()) work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Takes the lock, which contains the ID of its process. It is stale once that process ends. */
function lock(file) {
  for (let waiting = false; !create(file, `${process.pid}`); ) {
    const holder = contentOf(file);
    // Undefined: released since then. Empty: being written.
    if (holder && !isAlive(holder, file)) releaseStale(file, holder);
    else {
      if (holder && !waiting) {
        process.stderr.write(`rms: waiting for process ${holder}, which prepares this checkout\n`);
        waiting = true;
      }
      sleep();
    }
  }
}

/**
 * Removes a dead process's lock. Only the process that creates the second file may do so, and only while
 * the lock still names that holder: otherwise a second process could remove the first one's lock.
 */
function releaseStale(file, holder) {
  const right = `${file}.${holder}`;
  if (!create(right, '')) {
    if (isOlderThan(right, maxAgeMs)) rmSync(right, { force: true });
    return sleep();
  }
  try {
    if (contentOf(file) === holder) rmSync(file, { force: true });
  } finally {
    rmSync(right, { force: true });
  }
}

function create(file, content) {
  try {
    writeFileSync(file, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

function contentOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  }
}

function isAlive(pid, file) {
  if (isOlderThan(file, maxAgeMs)) return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function isOlderThan(file, ms) {
  const { mtimeMs = Date.now() } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs > ms;
}

function sleep() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
}
