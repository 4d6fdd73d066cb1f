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
