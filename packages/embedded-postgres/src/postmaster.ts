import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** What a running PostgreSQL tells about itself in its data directory. */
interface Postmaster {
  readonly pid: number;
  /** "starting", "ready", "stopping"; empty until it says so. */
  readonly status: string;
}

const fastShutdownMs = 15_000;
const pollMs = 10;

/** Reads postmaster.pid: the process id is its first line, the status its eighth. */
export function readPostmaster(dataDirectory: string): Postmaster | undefined {
  try {
    const lines = readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), status: lines[7]?.trim() ?? '' };
  } catch {
    return undefined;
  }
}

/**
 * Stops a PostgreSQL that still runs on this data directory: a kill -9 of Node leaves it behind. A process that merely
 * has the number of an old one is left alone. Resolves to whether there was one.
 */
export async function stopLeftover(dataDirectory: string): Promise<boolean> {
  const left = readPostmaster(dataDirectory);
  if (!left || !isPostgresOn(left.pid, dataDirectory)) return false;
  process.kill(left.pid, 'SIGINT');
  const giveUpAtMs = performance.now() + fastShutdownMs;
  while (isPostgresOn(left.pid, dataDirectory)) {
    if (performance.now() > giveUpAtMs) throw new Error(`PostgreSQL ${left.pid} of an earlier start does not stop`);
    await delay(pollMs);
  }
  return true;
}

/** Whether the process lives and is a PostgreSQL on this data directory. A zombie has no command line any more. */
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
