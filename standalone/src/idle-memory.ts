import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';

/** Interval between two readings of the event loop utilization. */
const everyMs = 500;
const busyAbove = 0.2;
const idleBelow = 0.05;
const idleBeforeCollectingMs = 3_000;

/**
 * Collects garbage once when the process has become idle after a burst. V8 collects garbage while code allocates, so an
 * idle process would keep the garbage of the burst and the enlarged young generation. The collection pauses the idle
 * process for some tens of milliseconds.
 */
export function freeMemoryWhenIdle(): void {
  const session = new Session();
  session.connect();
  let hasGarbage = true;
  let idleForMs = 0;
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idleForMs = utilization < idleBelow ? idleForMs + everyMs : 0;
    if (utilization > busyAbove) hasGarbage = true;
    if (!hasGarbage || idleForMs < idleBeforeCollectingMs) return;
    hasGarbage = false;
    session.post('HeapProfiler.collectGarbage');
  }, everyMs).unref();
}
