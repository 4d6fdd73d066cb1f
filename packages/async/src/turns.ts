import { FairQueue } from './fair-queue.ts';

/**
 * Divides work over turns of the event loop: a turn begins no more tasks once those that it began have taken `maxMs`, so
 * that a thousand tasks that become possible together do not keep the process from its other work. Tenants are served
 * round-robin. A task begins immediately if no other is queued and the current turn has time left.
 * @param now a monotonic clock, in milliseconds
 */
export function createTurns(maxMs: number, now = () => performance.now()): (tenant: string, task: () => void) => void {
  const waiting = new FairQueue<() => void>();
  let spentMs = 0;
  let scheduled = false;

  const run = (task: () => void) => {
    const startedAtMs = now();
    try {
      task();
    } finally {
      spentMs += now() - startedAtMs;
    }
  };
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      spentMs = 0;
      if (waiting.size === 0) return;
      schedule();
      while (spentMs < maxMs) {
        const task = waiting.shift();
        if (!task) return;
        run(task);
      }
    });
  };
  return (tenant, task) => {
    schedule();
    if (spentMs < maxMs && waiting.size === 0) run(task);
    else waiting.push(tenant, task);
  };
}
