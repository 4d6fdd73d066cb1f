/** Oldest due rows among which workspaces take turns. */
const rowsRead = 1_000;

/**
 * Returns SQL that locks up to $1 due rows and selects their `ctid`: the oldest row of each workspace, then the second
 * oldest of each, and so on, so that a workspace with many due rows does not delay the others. Skips rows that another
 * instance has locked. `due_at` must be null in rows that do not meet `condition`.
 */
export function dueInTurns(table: 'alerts.notifications' | 'alerts.mails', condition = 'true'): string {
  return `
    select one.ctid
      from (select row_id, row_number() over (partition by workspace_id order by due_at, row_id) as turn, due_at
              from (select ctid as row_id, workspace_id, due_at from ${table}
                     where ${condition} and due_at <= now() order by due_at limit ${rowsRead}) as oldest
             order by turn, due_at) as turns
     cross join lateral (select ctid from ${table}
                          where ctid = turns.row_id and due_at <= now() for update skip locked) as one
     limit $1`;
}
