import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import type { Period } from './usage.ts';

/** Retention in days. Monthly counts of environments are kept forever. */
const keptDays: readonly (readonly [Period, days: number])[] = [
  ['minute', 2],
  ['hour', 35],
  ['day', 400],
];

/** Deletes expired counts. */
export async function forgetCounts(db: Queryable, signal?: AbortSignal): Promise<void> {
  for (const table of ['request_counts', 'delivery_counts', 'request_groups', 'delivery_groups']) {
    for (const values of keptDays) {
      const where = 'period = $1 and starts_at < alerts.agreed_now() - make_interval(days => $2)';
      await deleteInBatches(db, `alerts.${table}`, { where, values, order: 'starts_at' }, signal);
    }
  }
  // Webhooks can be created and deleted without end.
  const where = "period = 'month' and webhook_id <> '' and starts_at < alerts.agreed_now() - interval '400 days'";
  await deleteInBatches(db, 'alerts.delivery_counts', { where, order: 'starts_at' }, signal);
}

/**
 * Deletes the runs of webhooks without an attempt for 35 days. No notice deletes a run that is reported after the
 * deletion of its webhook.
 */
export function forgetRuns(db: Queryable, signal?: AbortSignal): Promise<number> {
  const old = { where: `last_attempt_at < alerts.agreed_now() - interval '35 days'` };
  return deleteInBatches(db, 'alerts.webhook_runs', old, signal);
}

/** Deletes reporters without a report for seven days. A process retries a report for at most six days. */
export function forgetReporters(db: Queryable, signal?: AbortSignal): Promise<number> {
  return deleteInBatches(
    db,
    'alerts.reporters',
    { where: `seen_at < alerts.agreed_now() - interval '7 days'` },
    signal,
  );
}
