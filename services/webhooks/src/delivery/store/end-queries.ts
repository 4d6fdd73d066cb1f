import { isolateRejected, type PoolClient, type Queryable, type Rejected } from '@rms/db';
import type { Tenant } from '@rms/tenant';
import { attemptColumns } from '../../log/attempt-columns.ts';
import { resetEndpoint } from './schedule-queries.ts';

/** The key of a queued delivery, and its lease. */
export interface QueuedRow {
  readonly workspace_id: string;
  readonly environment: string;
  readonly id: string;
  readonly lease: number;
}

/**
 * The reason why a delivery ended before it used up its retries. 'expired': the log was about to drop its day.
 * 'canceled': a client or user canceled it.
 */
export type EndReason = 'expired' | 'canceled';

/** The columns that a delivery keeps when it moves to the log. */
export const kept =
  'workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id, origin, lease, created_at';

/** Returns SQL that makes the first waiting delivery of each lane in the CTE `ended` due at the SQL time `dueAt`. */
export const freedAt = (dueAt: string) => `
        update webhooks.deliveries as d set due_at = ${dueAt}
          from (select distinct webhook_id, resource_id from ended where ordered) as lane
         cross join lateral (
               select workspace_id, environment, id from webhooks.deliveries
                where ordered and webhook_id = lane.webhook_id and resource_id = lane.resource_id and due_at is null
                order by sequence, id limit 1) as next
         where d.workspace_id = next.workspace_id and d.environment = next.environment and d.id = next.id
           and d.due_at is null`;
export const freed = freedAt('now()');

/**
 * Fails queued deliveries whose lease has not changed. They can be redelivered. Returns the deliveries that PostgreSQL
 * rejects. They stay queued. Unless they wait in a lane, they become due again in an hour, so that they are not leased
 * continuously.
 */
export async function failDeliveries(
  db: Queryable,
  rows: readonly QueuedRow[],
  reason: EndReason | null = null,
): Promise<Rejected<QueuedRow>[]> {
  const rejected = await isolateRejected(rows, (some) => failThese(db, some, reason));
  if (rejected.length > 0) await postpone(db, rejected);
  return rejected;
}

async function failThese(db: Queryable, rows: readonly QueuedRow[], reason: EndReason | null): Promise<void> {
  await db.query({
    name: 'deliveries-fail',
    text: `
      with ended as (
        delete from webhooks.deliveries as d
         using unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as lost (workspace_id, environment, id, lease)
         where d.workspace_id = lost.workspace_id and d.environment = lost.environment and d.id = lost.id
           and d.lease = lost.lease
        returning d.*
      ), freed as (${freed}
      )
      insert into webhooks.delivery_log (${kept}, status, ${attemptColumns}, end_reason)
      select ${kept}, 'failed', ${attemptColumns}, $5 from ended`,
    values: [...keysOf(rows), reason],
  });
}

async function postpone(db: Queryable, rejected: readonly Rejected<QueuedRow>[]): Promise<void> {
  await db.query({
    name: 'deliveries-postpone',
    text: `
      update webhooks.deliveries as d set due_at = now() + interval '1 hour'
        from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as rejected (workspace_id, environment, id, lease)
       where d.workspace_id = rejected.workspace_id and d.environment = rejected.environment and d.id = rejected.id
         and d.lease = rejected.lease and d.due_at is not null`,
    values: keysOf(rejected.map(({ row }) => row)),
  });
}

function keysOf(rows: readonly QueuedRow[]): unknown[] {
  return [
    rows.map((row) => row.workspace_id),
    rows.map((row) => row.environment),
    rows.map((row) => row.id),
    rows.map((row) => row.lease),
  ];
}

/**
 * Limits of a call: the number of deliveries and the total size of their attempts. The first delivery is always
 * included.
 */
const failedPerStatement = { deliveries: 5_000, bytes: 8 * 1024 * 1024 };

/**
 * Fails the unfinished deliveries of a deleted or disabled webhook; they can be redelivered later. Returns how many
 * failed. A call is limited to {@link failedPerStatement}, so that it stays within the time limit of a request.
 */
export async function failPending(
  db: Queryable,
  { workspaceId, environment, id }: Tenant & { readonly id: string },
): Promise<number> {
  const { rowCount } = await db.query(
    `with first as materialized (
       select id, sum(bytes) over (order by due_at, id) - bytes as bytes_before
         from (select id, due_at, pg_column_size(attempts) as bytes from webhooks.deliveries
                where workspace_id = $1 and environment = $2 and webhook_id = $3
                order by due_at limit (select ${failedPerStatement.deliveries})) as first
     ), locked as materialized (
       select workspace_id, environment, id from webhooks.deliveries
        where workspace_id = $1 and environment = $2
          and id = any(array(select id from first where bytes_before < ${failedPerStatement.bytes}))
        order by id for update
     ), ended as (
       delete from webhooks.deliveries as d using locked
        where d.workspace_id = locked.workspace_id and d.environment = locked.environment and d.id = locked.id
       returning d.*
     )
     insert into webhooks.delivery_log (${kept}, status, ${attemptColumns})
     select ${kept}, 'failed', ${attemptColumns} from ended`,
    [workspaceId, environment, id],
  );
  return rowCount ?? 0;
}

/**
 * Calls {@link failPending} in a transaction that must succeed even if a delivery cannot be ended. Remaining deliveries
 * are ended by the instance that finds the webhook due after the commit.
 */
export async function tryFailPending(tx: PoolClient, webhook: Parameters<typeof failPending>[1]): Promise<void> {
  await tx.query('savepoint pending');
  try {
    await failPending(tx, webhook);
  } catch {
    // Throws if the connection is lost.
    await tx.query('rollback to savepoint pending');
  }
  await resetEndpoint(tx, webhook.id);
}
