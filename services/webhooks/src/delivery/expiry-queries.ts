import type { Tenant } from '@rms/base/tenant';
import type { Queryable, Rejected } from '@rms/postgres/db';
import { endQueued, endStatement, failDeliveries, type QueuedRow } from '../engine/record/end-queries.ts';

/** Returns SQL for the first delivery ID of a day (UTC). `parameter` is the parameter with the number of days ago. */
const firstIdOfDay = (parameter: string) =>
  `webhooks.first_id('dlv', ((webhooks.agreed_now() at time zone 'UTC')::date - ${parameter}::integer)::timestamp at time zone 'UTC')`;
const rowsPerStatement = 1_000;

/**
 * Returns the tenants with queued deliveries of events that are more than `days` days old, in whole days. Skips from
 * tenant to tenant, so that the cost does not grow with the backlog.
 */
export async function readTenantsWithOld(db: Queryable, days: number): Promise<Tenant[]> {
  const { rows } = await db.query<Tenant>(
    `with recursive oldest (workspace_id, environment, id) as (
       (select workspace_id, environment, id from webhooks.deliveries order by workspace_id, environment, id limit 1)
       union all
       select next.*
         from oldest as o
        cross join lateral (
              select workspace_id, environment, id from webhooks.deliveries
               where (workspace_id, environment) > (o.workspace_id, o.environment)
               order by workspace_id, environment, id limit 1) as next
     )
     select workspace_id as "workspaceId", environment from oldest where id < ${firstIdOfDay('$1')}`,
    [days],
  );
  return rows;
}

/**
 * Deletes up to 1,000 queued deliveries that are more than `keptDays` days old. They do not move to the log, because
 * their day is about to be dropped. Returns how many were deleted.
 */
export function deleteExpired(db: Queryable, { workspaceId, environment }: Tenant, keptDays: number): Promise<number> {
  return endQueued(db, {
    text: endStatement({
      picked: `
       select workspace_id, environment, id from webhooks.deliveries
        where workspace_id = $1 and environment = $2 and id < ${firstIdOfDay('$3')}
        order by id limit ${rowsPerStatement} for update`,
      reason: `'expired'`,
      nextDueAt: 'now()',
      logs: false,
    }),
    values: [workspaceId, environment, keptDays],
  });
}

/**
 * Fails up to 1,000 queued deliveries of the tenant that are more than `days` old, with the reason 'expired', in the
 * order of their IDs after `after`. Redeliveries and replays that have not been attempted yet stay queued. Returns how
 * many were failed, the last ID (undefined: none remains), and the deliveries that PostgreSQL rejects; they stay queued
 * until they are deleted.
 */
export async function failExpiring(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  days: number,
  after: string,
): Promise<{ ended: number; rejected: Rejected<QueuedRow>[]; last: string | undefined }> {
  const { rows } = await db.query<QueuedRow>(
    `select workspace_id, environment, id, lease from webhooks.deliveries
      where workspace_id = $1 and environment = $2 and id > $4 and id < ${firstIdOfDay('$3')}
        and (tries > 0 or origin = 'event')
      order by id limit ${rowsPerStatement}`,
    [workspaceId, environment, days, after],
  );
  const rejected = rows.length > 0 ? await failDeliveries(db, rows, 'expired') : [];
  return { ended: rows.length - rejected.length, rejected, last: rows.at(-1)?.id };
}
