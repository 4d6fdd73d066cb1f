import type { Tenant } from '@rms/base/tenant';
import type { EndReason } from '@rms/base/webhook-events';
import { isolateRejected, type Queryable, type Rejected } from '@rms/postgres/db';
import { resetEndpoint } from '../lease/schedule-queries.ts';
import { attemptColumns } from './logged-attempt.ts';

/** A queued delivery's key, and its lease. */
export interface QueuedRow {
  readonly workspace_id: string;
  readonly environment: string;
  readonly id: string;
  readonly lease: number;
}

/** The columns that a delivery keeps when it moves to the log. */
const kept =
  'workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id, origin, lease, created_at';

/**
 * Returns SQL that adds the deliveries in the CTE `ended` to the log.
 * @param attempts expressions for {@link attemptColumns}
 */
export const logged = (status: string, reason: string, attempts: string = attemptColumns) => `
        insert into webhooks.delivery_log (${kept}, status, end_reason, ${attemptColumns})
        select ${kept}, ${status}, ${reason}, ${attempts} from ended`;

/** SQL for the reason why a queued delivery `d` of a webhook that is deleted or disabled ends. */
const abandonedReason = `
        case when exists (select from webhooks.webhooks as w
                           where w.workspace_id = d.workspace_id and w.environment = d.environment and w.id = d.webhook_id)
             then 'webhook_disabled' else 'webhook_deleted' end`;

/**
 * Returns SQL that makes the first waiting delivery of each lane in the CTE `ended` due.
 * @param dueAt SQL expression on the lane's deliveries in `ended`
 */
const freedAt = (dueAt: string) => `
        update webhooks.deliveries as d set due_at = lane.due_at
          from (select webhook_id, resource_id, ${dueAt} as due_at from ended where ordered group by 1, 2) as lane
         cross join lateral (
               select workspace_id, environment, id from webhooks.deliveries
                where ordered and webhook_id = lane.webhook_id and resource_id = lane.resource_id and due_at is null
                order by sequence, id limit 1) as next
         where d.workspace_id = next.workspace_id and d.environment = next.environment and d.id = next.id
           and d.due_at is null`;
export const freed = freedAt('now()');

/** Parts of a statement that ends queued deliveries without an attempt. */
interface Ending {
  /** SQL of further CTEs before `picked`, each followed by a comma. */
  readonly before?: string;
  /** SELECT of the keys (workspace_id, environment, id) of the deliveries. */
  readonly picked: string;
  /** Condition on the delivery `d` and its row of `picked`. */
  readonly condition?: string;
  /** SQL expression on the delivery `d`; its values are of {@link EndReason}. */
  readonly reason: string;
  /** When the next delivery of a lane becomes due: an SQL expression, or undefined if the whole lane ends. */
  readonly nextDueAt?: string | undefined;
  /** False: the deliveries do not move to the log. */
  readonly logs?: boolean;
}

/**
 * Returns the statement that ends queued deliveries without an attempt, whatever the reason: it moves them to the log
 * with the reason, adds their number to webhooks.end_counts, and makes the next deliveries of their lanes due. It
 * returns their number as `count`. A canceled delivery is stored as a failed one, so that the previous release can read
 * it. Attempts end deliveries in `recordAttempts`, which counts them in memory with the attempts.
 */
export const endStatement = ({ before = '', picked, condition, reason, nextDueAt, logs = true }: Ending) => `
      with ${before} picked as materialized (${picked}
      ), ended as (
        delete from webhooks.deliveries as d using picked
         where d.workspace_id = picked.workspace_id and d.environment = picked.environment and d.id = picked.id
           ${condition ? `and ${condition}` : ''}
        returning d.*, ${reason} as end_reason, ${nextDueAt ?? 'null::timestamptz'} as next_due_at
      ), ${nextDueAt ? `freed as (${freedAt('max(next_due_at)')}), ` : ''}${logs ? `logged as (${logged(`'failed'`, 'end_reason')}), ` : ''}counted as (
        insert into webhooks.end_counts (workspace_id, environment, webhook_id, event_type, reason, deliveries)
        select workspace_id, environment, webhook_id, event_type, end_reason, count(*) from ended group by 1, 2, 3, 4, 5
      )
      select count(*)::integer as count from ended`;

/** Runs an {@link endStatement}. Returns the number of deliveries. */
export async function endQueued(db: Queryable, statement: { name?: string; text: string; values: unknown[] }) {
  const { rows } = await db.query<{ count: number }>(statement);
  return rows[0]?.count ?? 0;
}

/**
 * Fails queued deliveries with unchanged leases. They can be redelivered. Returns the deliveries that PostgreSQL
 * rejects. They stay queued. Unless they wait in a lane, they become due again in an hour, so that they are not leased
 * continuously.
 */
export async function failDeliveries(
  db: Queryable,
  rows: readonly QueuedRow[],
  reason: EndReason | 'abandoned',
): Promise<Rejected<QueuedRow>[]> {
  const rejected = await isolateRejected(rows, (some) => failThese(db, some, reason));
  if (rejected.length > 0) await postpone(db, rejected);
  return rejected;
}

async function failThese(db: Queryable, rows: readonly QueuedRow[], reason: EndReason | 'abandoned'): Promise<void> {
  await endQueued(db, {
    name: 'deliveries-fail',
    text: endStatement({
      picked: `
        select * from unnest($1::text[], $2::text[], $3::text[], $4::integer[])
            as picked (workspace_id, environment, id, lease)`,
      condition: 'd.lease = picked.lease',
      reason: `case when $5::text = 'abandoned' then ${abandonedReason} else $5 end`,
      nextDueAt: 'now()',
    }),
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
export function failPending(
  db: Queryable,
  { workspaceId, environment, id }: Tenant & { readonly id: string },
): Promise<number> {
  return endQueued(db, {
    text: endStatement({
      before: `first as materialized (
       select id, sum(bytes) over (order by due_at, id) - bytes as bytes_before
         from (select id, due_at, pg_column_size(attempts) as bytes from webhooks.deliveries
                where workspace_id = $1 and environment = $2 and webhook_id = $3
                order by due_at limit (select ${failedPerStatement.deliveries})) as first
     ),`,
      picked: `
       select workspace_id, environment, id from webhooks.deliveries
        where workspace_id = $1 and environment = $2
          and id = any(array(select id from first where bytes_before < ${failedPerStatement.bytes}))
        order by id for update`,
      reason: abandonedReason,
    }),
    values: [workspaceId, environment, id],
  });
}

/**
 * Calls {@link failPending} in a transaction that must succeed even if a delivery cannot be ended. Remaining deliveries
 * are ended by the instance that finds the webhook due after the commit.
 */
export async function tryFailPending(tx: Queryable, webhook: Parameters<typeof failPending>[1]): Promise<void> {
  await tx.query('savepoint pending');
  try {
    await failPending(tx, webhook);
  } catch {
    // Throws if the connection is lost.
    await tx.query('rollback to savepoint pending');
  }
  await resetEndpoint(tx, webhook.id);
}
