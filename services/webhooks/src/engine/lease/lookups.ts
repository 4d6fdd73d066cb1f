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

/**
 * Returns an SQL condition: the queued delivery `d` has the key (workspace_id, environment, id) of `other`.
 *
 * It compares rows, because the planner can use that only to look up each key in the primary key. With `=`, a plan that
 * was made while the queue was empty reads the whole queue for every statement.
 */
export function isDelivery(other: string): string {
  const key = '(d.workspace_id, d.environment, d.id)';
  const wanted = `(${['workspace_id', 'environment', 'id'].map((column) => `${other}.${column} collate "C"`).join(', ')})`;
  return `${key} >= ${wanted} and ${key} <= ${wanted}`;
}
