import type { Queryable } from '@rms/db';

/**
 * Erases the bodies of all events of resources that are deleted, once none of their deliveries is pending. Answers with
 * how many bodies are gone.
 */
export async function eraseDeleted(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(`
    with deleted as (
      select workspace_id, environment, resource_id from webhooks.events
       where type = 'resource.deleted' and body is not null limit 500
    ), settled as (
      select * from deleted as x
       where not exists (
               select from webhooks.deliveries as d
                where d.workspace_id = x.workspace_id and d.environment = x.environment
                  and d.resource_id = x.resource_id and d.status = 'pending')
    )
    update webhooks.events as e set body = null
      from settled as s
     where e.workspace_id = s.workspace_id and e.environment = s.environment and e.resource_id = s.resource_id
       and e.body is not null`);
  return rowCount ?? 0;
}
