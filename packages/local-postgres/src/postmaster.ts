import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** State that a running PostgreSQL publishes in its data directory. */
interface Postmaster {
  readonly pid: number;
  /** "starting", "ready", "stopping"; empty until it is set. */
  readonly status: string;
}

const fastShutdownMs = 15_000;
const pollMs = 10;

/** Reads postmaster.pid: the process ID is the first line, the status the eighth. */
export function readPostmaster(dataDirectory: string): Postmaster | undefined {
  try {
    const lines = readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), status: lines[7]?.trim() ?? '' };
  } catch {
    return undefined;
  }
}

/**
 * Stops a PostgreSQL that still runs on this data directory, as after a kill -9 of Node. Ignores an unrelated process
 * that has reused the process ID. Resolves to whether a server was running.
 */
export async function stopLeftover(dataDirectory: string): Promise<boolean> {
  const leftover = readPostmaster(dataDirectory);
  if (!leftover || !isPostgresOn(leftover.pid, dataDirectory)) return false;
  process.kill(leftover.pid, 'SIGINT');
  const giveUpAtMs = performance.now() + fastShutdownMs;
  while (isPostgresOn(leftover.pid, dataDirectory)) {
    if (performance.now() > giveUpAtMs) {
      throw new Error(`the leftover PostgreSQL process ${leftover.pid} does not stop; end it, then start again`);
    }
    await delay(pollMs);
  }
  return true;
}

/** Returns whether the process is a PostgreSQL on this data directory. A zombie has no command line. */
function isPostgresOn(pid: number, dataDirectory: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  const command = commandLine(pid);
  return command.includes('postgres') && command.includes(dataDirectory);
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-o', 'command=', '-p', `${pid}`], { encoding: 'utf8' });
  } catch {
    return '';
  }
}
