import { setTimeout as delay } from 'node:timers/promises';
import { abortableDelay, inCall } from '@rms/async';
import { type Limiter, markersTrustMs } from '@rms/limits';
import type { Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { AuthMetrics } from '../metrics.ts';
import { arePending, deletePendingMarkers, type KeyMarker, readPendingMarkers } from './marker-queries.ts';

/** Failures may alternate with successes, for example while the memory of Redis is almost full. */
const reportEveryMs = 60_000;
const batch = 1_000;
const pollMs = 100;
/** Added to `markersTrustMs` because timers are imprecise. */
const marginMs = 200;

/** Makes changes of keys take effect at every gateway. */
export interface Markers {
  /**
   * Resolves once no gateway uses cached verdicts of earlier versions of these keys: either this or another instance
   * has set the markers in Redis, or every gateway's trust in the markers has expired because no auth instance confirms
   * them. Call it after the commit. Never rejects.
   */
  hold(markers: readonly KeyMarker[]): Promise<void>;
  /** Sets pending markers and confirms the markers periodically; see {@link Limiter.confirmMarkers}. */
  readonly worker: Worker;
}

/**
 * Creates the publisher of revocation markers. There are two ways how a key change becomes effective at gateways
 * that have cached the key (invariant 3):
 *
 *   commit with a pending marker ──marker set in Redis──► effective
 *          └──Redis unreachable──► markers are no longer confirmed, trust expires ──► effective
 */
export function createMarkers(parts: {
  pool: Pool;
  limiter: Pick<Limiter, 'setMarkers' | 'confirmMarkers' | 'confirmEveryMs'>;
  log: Logger;
  metrics: AuthMetrics;
}): Markers {
  const { pool, limiter, log, metrics } = parts;

  const set = async (markers: readonly KeyMarker[]) => {
    await limiter.setMarkers(markers);
    await deletePendingMarkers(pool, markers);
  };
  /** Trust from before the commit expires within `markersTrustMs`. Later confirmations include the pending marker. */
  const untilTrustExpired = async (markers: readonly KeyMarker[], committedAtMs: number) => {
    while (performance.now() < committedAtMs + markersTrustMs + marginMs) {
      await delay(pollMs);
      if (!(await arePending(pool, markers).catch(() => true))) return;
    }
  };

  const hold = async (markers: readonly KeyMarker[]) => {
    const committedAtMs = performance.now();
    try {
      await set(markers);
    } catch (err) {
      log.warn(
        { err, keys: markers.length },
        'could not set revocation markers; waiting until gateways stop trusting them',
      );
      await untilTrustExpired(markers, committedAtMs);
    }
    metrics.revocationSeconds.observe((performance.now() - committedAtMs) / 1000);
  };

  return {
    async hold(markers) {
      // The change is committed, so this does not end with the call that made it.
      if (markers.length > 0) await inCall(undefined, () => hold(markers));
    },
    worker: {
      name: 'markers',
      async run(signal) {
        let isReported = false;
        let reportedAtMs = Number.NEGATIVE_INFINITY;
        while (!signal.aborted) {
          let confirmed = true;
          try {
            await limiter.confirmMarkers(async (set) => {
              for (let pending = await readPendingMarkers(pool, batch); pending.length > 0; ) {
                const done = await set(pending);
                if (done.length > 0) await deletePendingMarkers(pool, done);
                // Markers of an unreachable server remain.
                pending = await readPendingMarkers(pool, batch, pending.at(-1));
              }
            });
            if (isReported) log.info('revocation markers are confirmed again');
            isReported = false;
          } catch (err) {
            confirmed = false;
            if (!isReported && performance.now() >= reportedAtMs + reportEveryMs) {
              isReported = true;
              reportedAtMs = performance.now();
              log.warn(
                { err },
                'could not confirm revocation markers; gateways verify the keys of the unconfirmed Redis servers with auth',
              );
            }
          }
          metrics.markersConfirmed.set(confirmed ? 1 : 0);
          await abortableDelay(limiter.confirmEveryMs, signal);
        }
      },
    },
  };
}
