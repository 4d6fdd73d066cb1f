/**
 * Returns SQL for a lateral join that reads the first event at or after each ID in `named` (workspace_id, environment,
 * id). The caller must check whether that event has the wanted ID. The ordering forces a primary key walk. With
 * an equality condition, the planner may choose another index and read all events of a tenant for every ID, because a
 * new day's partition has no statistics.
 * @param from parameter with the smallest ID. Together with `to`, the parameter with the largest ID, it lets the
 * planner prune partitions.
 */
export const firstEventFrom = (named: string, columns: string, from: string, to: string) => `lateral (
                 select ${columns} from webhooks.events
                  where (workspace_id, environment, id) >= (${named}.workspace_id, ${named}.environment, ${named}.id)
                    and id >= ${from} and id <= ${to}
                  order by workspace_id, environment, id
                  limit 1)`;
