import type { Queryable, Queue } from '@rms/postgres/db';

/** The deliveries of an ordered webhook about one resource. */
export interface Lane {
  readonly webhookId: string;
  readonly resourceId: string;
}

/** The result of {@link freeLanes}. */
interface Freed {
  /** Number of deliveries that became due. */
  readonly freed: number;
  /** The next call continues after this lane; undefined: there are no more lanes. */
  readonly last: Lane | undefined;
}

/** Bounds a statement's duration. A tenant can have a lane per resource. */
const lanesPerScan = 5_000;

/** Creates the housekeeping task that calls {@link freeLanes}; each run continues after the lanes of the one before. */
export function createLaneScan(pool: Queryable, lanes: Pick<Queue, 'mayHaveRows'>): () => Promise<void> {
  let after: Lane | undefined;
  return async () => {
    if (!lanes.mayHaveRows) return;
    ({ last: after } = await freeLanes(pool, after));
  };
}

/**
 * Makes the first delivery due in every lane without a delivery in progress, among the first `limit` lanes after
 * `after`. A delivery's end normally makes the next delivery due. This query finds deliveries that were added while
 * their predecessor ended. It skips from lane to lane, so its cost does not depend on how many deliveries are in each.
 */
export async function freeLanes(db: Queryable, after?: Lane, limit = lanesPerScan): Promise<Freed> {
  const { rows } = await db.query<{ freed: number } & { [name in keyof Lane]: string | null }>(
    `with recursive lanes (webhook_id, resource_id, number) as (
       (select webhook_id, resource_id, 1 from webhooks.deliveries
         where due_at is null and (webhook_id, resource_id) > ($1, $2) order by webhook_id, resource_id limit 1)
       union all
       select next.webhook_id, next.resource_id, number + 1
         from lanes as l
        cross join lateral (
              select webhook_id, resource_id from webhooks.deliveries
               where due_at is null and (webhook_id, resource_id) > (l.webhook_id, l.resource_id)
               order by webhook_id, resource_id limit 1) as next
        where number < $3
     ), freed as (
       update webhooks.deliveries as d set due_at = now()
         from lanes as l
        cross join lateral (
              select workspace_id, environment, id from webhooks.deliveries
               where ordered and webhook_id = l.webhook_id and resource_id = l.resource_id and due_at is null
               order by sequence, id limit 1) as first
        where not exists (
              select from webhooks.deliveries as other
               where other.ordered and other.webhook_id = l.webhook_id and other.resource_id = l.resource_id
                 and other.due_at is not null)
          and d.workspace_id = first.workspace_id and d.environment = first.environment and d.id = first.id
          and d.due_at is null
       returning 1
     )
     select (select count(*)::integer from freed) as freed, l.webhook_id as "webhookId", l.resource_id as "resourceId"
       from (values ($3::integer)) as bound (number) left join lanes as l using (number)`,
    [after?.webhookId ?? '', after?.resourceId ?? '', limit],
  );
  const { freed = 0, webhookId = null, resourceId = null } = rows[0] ?? {};
  return { freed, last: webhookId === null || resourceId === null ? undefined : { webhookId, resourceId } };
}
