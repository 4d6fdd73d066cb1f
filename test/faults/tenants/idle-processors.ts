import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const everyMs = 250;

/** Waits until the processors were idle for at least `share` (0 to 1) of the last 250 ms, or until `stopped` is true. */
export async function untilProcessorsAreIdle(share: number, stopped: () => boolean): Promise<void> {
  let before = processorTimes();
  while (!stopped()) {
    await delay(everyMs);
    const after = processorTimes();
    if (after.idle - before.idle >= share * (after.total - before.total)) return;
    before = after;
  }
}

function processorTimes(): { idle: number; total: number } {
  let [idle, total] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    for (const time of Object.values(times)) total += time;
  }
  return { idle, total };
}
