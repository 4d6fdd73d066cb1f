import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';

/** Interval between two readings of the event loop utilization. */
const everyMs = 500;
/**
 * Polls of an idle process take 2 to 15 % of the event loop's time: a processor that wakes up for each of them runs them
 * slowly.
 */
const busyAbove = 0.2;
const calmBeforeCollectingMs = 3_000;
/** Limits the pauses to a small part of the time under a load that varies. */
const leastIntervalMs = 10_000;

/**
 * Collects garbage once when the process has become calm after a burst. V8 collects garbage while code allocates, so an
 * idle process would keep the garbage of the burst and the enlarged young generation. The collection pauses the process
 * for some tens of milliseconds.
 */
export function freeMemoryWhenIdle(): void {
  const session = new Session();
  session.connect();
  let hasGarbage = true;
  let calmForMs = 0;
  let sinceCollectionMs = leastIntervalMs;
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const isBusy = utilization > busyAbove;
    hasGarbage ||= isBusy;
    calmForMs = isBusy ? 0 : calmForMs + everyMs;
    sinceCollectionMs += everyMs;
    if (!hasGarbage || calmForMs < calmBeforeCollectingMs || sinceCollectionMs < leastIntervalMs) return;
    hasGarbage = false;
    sinceCollectionMs = 0;
    session.post('HeapProfiler.collectGarbage');
  }, everyMs).unref();
}
