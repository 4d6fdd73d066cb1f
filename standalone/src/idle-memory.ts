import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';

/** Interval between two readings of the event loop utilization. */
const everyMs = 500;
/**
 * The process is idle up to this utilization. Its polls alone take 2 to 17 % of the event loop's time, depending on the
 * machine.
 */
const busyAbove = 0.2;
const idleBeforeCollectingMs = 3_000;
/** Minimum time between two collections, so that their pauses stay rare under a load that varies. */
const betweenCollectionsMs = 10_000;

/**
 * Collects garbage once when the process has become idle after a burst. V8 collects garbage while code allocates, so an
 * idle process would keep the garbage of the burst and the enlarged young generation. The collection pauses the process
 * for some tens of milliseconds.
 */
export function freeMemoryWhenIdle(): void {
  const session = new Session();
  session.connect();
  let hasGarbage = true;
  let idleForMs = 0;
  let sinceCollectionMs = betweenCollectionsMs;
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const isBusy = utilization > busyAbove;
    hasGarbage ||= isBusy;
    idleForMs = isBusy ? 0 : idleForMs + everyMs;
    sinceCollectionMs += everyMs;
    if (!hasGarbage || idleForMs < idleBeforeCollectingMs || sinceCollectionMs < betweenCollectionsMs) return;
    hasGarbage = false;
    sinceCollectionMs = 0;
    session.post('HeapProfiler.collectGarbage');
  }, everyMs).unref();
}
