import { coalesce } from '@rms/async';
import { isRowError, type Pool, type Queryable, type Rejected } from '@rms/postgres/db';
import type { AbandonedWebhook } from '../lease/lease-queries.ts';
import { failDeliveries, failPending, type QueuedRow } from './end-queries.ts';

/**
 * Ends webhooks and their deliveries, round-robin over workspaces. A workspace can have a thousand webhooks with
 * endpoints gone at the same time, each with thousands of queued deliveries. Otherwise, they would use all connections
 * of the pool, and polls and RPCs would wait.
 */
export interface Endings {
  /** Runs `work` when the workspace is served. */
  run<T>(workspaceId: string, work: () => Promise<T>): Promise<T>;
  /**
   * Calls {@link failAbandoned}; each of its statements runs when the workspace is served. Does nothing for a webhook
   * that is being ended.
   */
  fail(webhook: AbandonedWebhook, signal: AbortSignal): Promise<Rejected<QueuedRow>[]>;
}

interface Item {
  readonly workspaceId: string;
  readonly work: () => Promise<unknown>;
}

export function createEndings(pool: Pool): Endings {
  const serve = coalesce(async (items: Item[]) => Promise.all(items.map(({ work }) => work())), {
    tenantOf: ({ workspaceId }) => workspaceId,
    maxBatch: 1,
    // A workspace has at most one, so that the other serves other workspaces.
    maxInFlight: 2,
    isExclusive: true,
    maxWaiting: Number.POSITIVE_INFINITY,
  });
  const run = <T>(workspaceId: string, work: () => Promise<T>) => serve({ workspaceId, work }) as Promise<T>;
  const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
  /** IDs of the webhooks with deliveries that are being ended. */
  const ending = new Set<string>();
  return {
    run,
    async fail(webhook, signal) {
      if (ending.has(webhook.id)) return [];
      ending.add(webhook.id);
      const inTurn = (...given: unknown[]) => run(webhook.workspaceId, () => query(...given));
      try {
        return await failAbandoned({ query: inTurn } as unknown as Queryable, webhook, signal);
      } finally {
        ending.delete(webhook.id);
      }
    },
  };
}

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
      order by id limit 1000`,
    [webhook.workspaceId, webhook.environment, webhook.id, after],
  );
  return rows;
}
