import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const timeoutMs = 10_000;

/**
 * Waits up to ten seconds for processes that outlive their test run, then kills them: every other process with a
 * command line or environment contains `folder`. Resolves to one line per killed process. Linux only; elsewhere
 * resolves to [].
 */
export async function endLeftovers(folder) {
  const giveUpAtMs = performance.now() + timeoutMs;
  let remaining = processesOf(folder);
  while (remaining.length > 0 && performance.now() < giveUpAtMs) {
    await delay(100);
    remaining = processesOf(folder);
  }
  for (const { pid } of remaining) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has just ended.
    }
  }
  return remaining.map(({ pid, command }) => `${pid} ${command}`);
}

function processesOf(folder) {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((name) => {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      // A dead process that was not reaped has no command line.
      if (command === '') return [];
      const named = command.includes(folder) || readFileSync(`/proc/${name}/environ`, 'utf8').includes(folder);
      return named ? [{ pid: Number(name), command }] : [];
    } catch {
      return [];
    }
  });
}
