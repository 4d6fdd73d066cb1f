import type { Queryable } from '@rms/db';
import type { JobRow } from './endpoint-queries.ts';

/** What the log keeps of a delivery that has ended. */
export const kept =
  'workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id, origin, lease, created_at';

/** Of the lanes of deliveries that end, as `ended`: the first of those that wait. */
export const freed = `
        update webhooks.deliveries as d set due_at = now()
          from (select distinct webhook_id, resource_id from ended where ordered) as lane
         cross join lateral (
               select workspace_id, environment, id from webhooks.deliveries
                where ordered and webhook_id = lane.webhook_id and resource_id = lane.resource_id and due_at is null
                order by sequence, id limit 1) as next
         where d.workspace_id = next.workspace_id and d.environment = next.environment and d.id = next.id
           and d.due_at is null`;

/** Ends deliveries that cannot be attempted, as failed; they can be redelivered once what was in the way is gone. */
export async function failDeliveries(db: Queryable, rows: readonly JobRow[]): Promise<void> {
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
      insert into webhooks.delivery_log (${kept}, status, attempts)
      select ${kept}, 'failed', attempts from ended`,
    values: [
      rows.map((row) => row.workspace_id),
      rows.map((row) => row.environment),
      rows.map((row) => row.id),
      rows.map((row) => row.lease),
    ],
  });
}

/** Of one webhook at once: more of them would take longer than a request may. */
const failedAtOnce = 5_000;

/**
 * Ends what is under way for a webhook that is not called any more, as failed; it can be redelivered later. Answers with
 * how many ended, 5,000 at most: the rest is left to {@link failAbandoned}.
 */
export async function failPending(
  db: Queryable,
  { workspaceId, environment, id }: { workspaceId: string; environment: string; id: string },
): Promise<number> {
  const { rowCount } = await db.query(
    `with locked as materialized (
       select workspace_id, environment, id from webhooks.deliveries
        where workspace_id = $1 and environment = $2 and webhook_id = $3
        order by id limit ${failedAtOnce} for update
     ), ended as (
       delete from webhooks.deliveries as d using locked
        where d.workspace_id = locked.workspace_id and d.environment = locked.environment and d.id = locked.id
       returning d.*
     )
     insert into webhooks.delivery_log (${kept}, status, attempts)
     select ${kept}, 'failed', attempts from ended`,
    [workspaceId, environment, id],
  );
  return rowCount ?? 0;
}

/** Ends a part of what is under way for webhooks that are gone or disabled. Answers with how many ended; 0: none is left. */
export async function failAbandoned(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ workspaceId: string; environment: string; id: string }>(`
    with recursive pending (webhook_id, workspace_id, environment) as (
      (select webhook_id, workspace_id, environment from webhooks.deliveries order by webhook_id limit 1)
      union all
      select next.* from pending as p
       cross join lateral (
             select webhook_id, workspace_id, environment from webhooks.deliveries
              where webhook_id > p.webhook_id order by webhook_id limit 1) as next
    )
    select workspace_id as "workspaceId", environment, webhook_id as id from pending as p
     where not exists (
             select from webhooks.webhooks as w
              where w.workspace_id = p.workspace_id and w.environment = p.environment and w.id = p.webhook_id
                and w.status = 'active')
     limit 1`);
  return rows[0] ? failPending(db, rows[0]) : 0;
}
