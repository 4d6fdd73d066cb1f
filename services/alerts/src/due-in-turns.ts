/** Oldest due rows among which workspaces take turns. */
const rowsRead = 1_000;

/**
 * Returns SQL that selects and locks up to $1 due rows: the oldest row of each workspace, then the second oldest of each,
 * and so on, so that a workspace with many due rows does not delay the others. Skips rows that another instance has
 * locked. `due_at` must be null in rows that do not meet `condition`.
 */
export function dueInTurns(table: 'alerts.notifications' | 'alerts.mails', condition = 'true'): string {
  return `
    select one.workspace_id, one.environment, one.id
      from (select *, row_number() over (partition by workspace_id order by due_at, id) as turn
              from (select workspace_id, environment, id, due_at from ${table}
                     where ${condition} and due_at <= now() order by due_at limit ${rowsRead}) as oldest) as turns
      join ${table} as one using (workspace_id, environment, id)
     where one.due_at <= now()
     order by turns.turn, turns.due_at limit $1
       for update of one skip locked`;
}
