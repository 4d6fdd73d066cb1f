import type { Tenant } from '@rms/base/tenant';
import type { Pool } from '@rms/postgres/db';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/reporting/usage';
import type { Logger } from '@rms/runtime/logging';
import type { DeliveryCounter } from '../delivery/ended-deliveries.ts';
import { errorClasses, errorClassOf } from '../engine/attempt/error-class.ts';
import { type AttemptCounts, addAttemptCounts, addCounts, noCounts } from './count-queries.ts';

interface AttemptsTally extends Tally, Tenant, AttemptCounts {
  readonly webhookId: string;
}

/** Sums up attempts and ended deliveries in memory, and writes the sums periodically. */
export interface AttemptTally extends DeliveryCounter {
  start(): void;
  /** Writes the remaining counts. */
  stop(): Promise<void>;
}

/**
 * Every instance runs one statement per five seconds, with two rows per webhook called in that time. A killed process
 * loses the sums of up to five seconds. Sums with an unconfirmed commit are added twice. This is acceptable because
 * webhook health is only displayed; the alerts service counts separately for billing and alerts.
 */
const flushEveryMs = 5_000;

/** @param options.now milliseconds since 1970 */
export function createAttemptTally(pool: Pool, { log, now }: { log: Logger; now: () => number }): AttemptTally {
  const reporter = new UsageReporter<AttemptsTally>({
    send: ({ tallies }) =>
      addAttemptCounts(
        pool,
        tallies.map((tally) => ({ ...tally, atMs: tally.minuteMs })),
      ),
    add: addCounts,
    log,
    now,
    flushEveryMs,
  });
  return {
    count(recordings) {
      for (const { job, result, settlement } of recordings) {
        const tally = reporter.tally(job.webhookId, (key, minuteMs) => newTally(key, minuteMs, job));
        if (!tally) continue;
        tally[settlement.status === 'pending' ? 'retried' : settlement.status] += 1;
        const wrong = errorClassOf(result);
        if (wrong) tally.errors[errorClasses.indexOf(wrong)] = (tally.errors[errorClasses.indexOf(wrong)] ?? 0) + 1;
        addLatency(tally.latencies, result.durationMs);
      }
    },
    countEnds(ends) {
      for (const end of ends) {
        const tally = reporter.tally(end.webhookId, (key, minuteMs) => newTally(key, minuteMs, end));
        if (tally) tally[end.reason === 'canceled' ? 'canceled' : 'ended'] += end.deliveries;
      }
    },
    start: () => reporter.start(),
    stop: () => reporter.stop(),
  };
}

function newTally(webhookId: string, minuteMs: number, { workspaceId, environment }: Tenant): AttemptsTally {
  const counts = { ...noCounts(), errors: errorClasses.map(() => 0), latencies: noLatencies() };
  return { key: webhookId, minuteMs, workspaceId, environment, webhookId, ...counts };
}
