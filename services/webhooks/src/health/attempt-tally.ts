import type { Pool } from '@rms/db';
import type { Logger } from '@rms/service';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/usage';
import type { Recording } from '../delivery/record-queries.ts';
import type { Tenant } from '../subscription/webhook.ts';
import { type AttemptCounts, addAttemptCounts, addCounts } from './count-queries.ts';
import { errorClasses, errorClassOf } from './error-class.ts';

interface AttemptsTally extends Tally, Tenant, AttemptCounts {
  readonly webhookId: string;
}

/** Adds up in memory what attempts came to, and writes the sums now and then: no delivery waits for that. */
export interface AttemptTally {
  /** They are recorded. */
  count(recordings: readonly Recording[]): void;
  start(): void;
  /** Writes what is left. */
  stop(): Promise<void>;
}

/**
 * One statement of an instance every five seconds, with two rows for each webhook that was called meanwhile. A process that
 * is killed loses the sums of these seconds, and those whose commit nobody heard of are added twice: health is for people
 * to look at, what is billed and alerted on is counted by alerts.
 */
const flushEveryMs = 5_000;

export function createAttemptTally(pool: Pool, log: Logger): AttemptTally {
  const reporter = new UsageReporter<AttemptsTally>({
    send: ({ tallies }) =>
      addAttemptCounts(
        pool,
        tallies.map((tally) => ({ ...tally, atMs: tally.minuteMs })),
      ),
    add: addCounts,
    log,
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
    start: () => reporter.start(),
    stop: () => reporter.stop(),
  };
}

function newTally(webhookId: string, minuteMs: number, { workspaceId, environment }: Tenant): AttemptsTally {
  const counts = { delivered: 0, retried: 0, failed: 0, errors: errorClasses.map(() => 0), latencies: noLatencies() };
  return { key: webhookId, minuteMs, workspaceId, environment, webhookId, ...counts };
}
