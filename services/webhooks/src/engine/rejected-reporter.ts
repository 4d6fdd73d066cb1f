import type { Rejected } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import { Counter, type Metrics } from '@rms/runtime/metrics';
import type { QueuedRow } from './record/end-queries.ts';

/** Counts and logs deliveries that could not be ended because PostgreSQL rejects their rows. They stay queued. */
export type RejectedReporter = (rejected: readonly Rejected<QueuedRow>[]) => void;

export function createRejectedReporter(metrics: Metrics, log: Logger): RejectedReporter {
  const counter = new Counter({
    name: 'rms_deliveries_not_ended_total',
    help: 'Deliveries that could not be ended because PostgreSQL rejected their rows. They stay queued, and each further try counts again.',
    registers: [metrics],
  });
  return (rejected) => {
    const [first] = rejected;
    if (!first) return;
    counter.inc(rejected.length);
    log.error(
      { err: first.error, count: rejected.length, delivery_id: first.row.id, workspace_id: first.row.workspace_id },
      'deliveries not ended: the database rejects them; they stay queued',
    );
  };
}
