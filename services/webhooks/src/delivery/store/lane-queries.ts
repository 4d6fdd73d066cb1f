import type { Queryable } from '@rms/db';

/**
 * Makes the first delivery due in every lane without a delivery in progress. The end of a delivery normally makes the
 * next delivery due. This query finds deliveries that were added while their predecessor ended. It skips from lane to
 * lane, so its cost does not depend on how many deliveries wait in each.
 */
export async function freeLanes(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(`
    with recursive lanes (webhook_id, resource_id) as (
      (select webhook_id, resource_id from webhooks.deliveries
        where due_at is null order by webhook_id, resource_id limit 1)
      union all
      select next.webhook_id, next.resource_id
        from lanes as l
       cross join lateral (
             select webhook_id, resource_id from webhooks.deliveries
              where due_at is null and (webhook_id, resource_id) > (l.webhook_id, l.resource_id)
              order by webhook_id, resource_id limit 1) as next
    )
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
       and d.due_at is null`);
  return rowCount ?? 0;
}
