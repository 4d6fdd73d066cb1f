import type { Queryable } from '@rms/db';
import { deliveriesOfEvent } from './log-queries.ts';

/**
 * Erases the bodies of all events of up to 500 deleted resources that have no unfinished deliveries. Returns the number
 * of erased bodies.
 */
export async function eraseDeleted(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(`
    with settled as (
      select x.workspace_id, x.environment, x.resource_id from webhooks.events as x
       where x.type = 'resource.deleted' and x.body is not null
         and not exists (
               select from webhooks.events as e
                 join webhooks.deliveries as d on ${deliveriesOfEvent}
                where e.workspace_id = x.workspace_id and e.environment = x.environment
                  and e.resource_id = x.resource_id)
       limit 500
    )
    update webhooks.events as e set body = null
      from settled as s
     where e.workspace_id = s.workspace_id and e.environment = s.environment and e.resource_id = s.resource_id
       and e.body is not null`);
  return rowCount ?? 0;
}
