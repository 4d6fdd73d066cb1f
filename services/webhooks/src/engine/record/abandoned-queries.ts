import { isRowError, type Queryable, type Rejected } from '@rms/postgres/db';
import type { AbandonedWebhook } from '../lease/lease-queries.ts';
import { failDeliveries, failPending, type QueuedRow } from './end-queries.ts';

const rowsPerStatement = 1_000;

/**
 * Fails all queued deliveries of a deleted or disabled webhook, in batches. Returns the deliveries that PostgreSQL
 * rejects; they stay queued.
 */
export async function failAbandoned(
  db: Queryable,
  webhook: AbandonedWebhook,
  signal: AbortSignal,
): Promise<Rejected<QueuedRow>[]> {
  try {
    while (!signal.aborted && (await failPending(db, webhook)) > 0);
    return [];
  } catch (error) {
    if (!isRowError(error)) throw error;
  }
  const rejected: Rejected<QueuedRow>[] = [];
  for (let after = ''; !signal.aborted; ) {
    const rows = await readQueued(db, webhook, after);
    const last = rows.at(-1);
    if (!last) break;
    rejected.push(...(await failDeliveries(db, rows, 'abandoned')));
    after = last.id;
  }
  return rejected;
}

async function readQueued(db: Queryable, webhook: AbandonedWebhook, after: string): Promise<QueuedRow[]> {
  const { rows } = await db.query<QueuedRow>(
    `select workspace_id, environment, id, lease from webhooks.deliveries
      where workspace_id = $1 and environment = $2 and webhook_id = $3 and id > $4
      order by id limit ${rowsPerStatement}`,
    [webhook.workspaceId, webhook.environment, webhook.id, after],
  );
  return rows;
}
