/**
 * SQL of a lateral join: from `named` (workspace_id, environment, id) to the first event at or after that id, of which the
 * caller has to see whether it is the one. The order makes it a walk of the primary key from there, whatever the planner
 * believes: by equality it may take another index, and read all events of a tenant for each one, where a day's partition
 * is new and has no statistics.
 * @param from a parameter with the least id that is looked for; with `to`, the greatest one, it tells the planner which
 * partitions to look at
 */
export const firstEventFrom = (named: string, columns: string, from: string, to: string) => `lateral (
                 select ${columns} from webhooks.events
                  where (workspace_id, environment, id) >= (${named}.workspace_id, ${named}.environment, ${named}.id)
                    and id >= ${from} and id <= ${to}
                  order by workspace_id, environment, id
                  limit 1)`;
