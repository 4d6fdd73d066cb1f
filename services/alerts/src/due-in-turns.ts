/**
 * Returns SQL that locks up to $1 due rows and selects their `ctid`: the oldest row of each workspace, then the second
 * oldest of each, and so on, so that a workspace with many due rows does not delay the others. Skips rows that another
 * instance has locked. Skips from workspace to workspace in an index that begins with workspace_id and due_at: the cost
 * is one index lookup per workspace with rows, however many rows it has, and $1 rows of $1 workspaces.
 */
export function dueInTurns(table: 'alerts.notifications' | 'alerts.mails', condition = 'true'): string {
  const earliest = (more: string) =>
    `select workspace_id, due_at from ${table} where ${condition} ${more} order by workspace_id, due_at limit 1`;
  return `
    with recursive owners (workspace_id, due_at) as (
      (${earliest('')})
      union all
      select next.* from owners as o cross join lateral (${earliest('and workspace_id > o.workspace_id')}) as next
    ), turns as (
      select oldest.row_id, oldest.due_at,
             row_number() over (partition by oldest.workspace_id order by oldest.due_at, oldest.row_id) as turn
        from (select workspace_id from owners where due_at <= now() order by due_at limit $1) as o
       cross join lateral (
             select ctid as row_id, workspace_id, due_at from ${table}
              where ${condition} and workspace_id = o.workspace_id and due_at <= now() order by due_at limit $1) as oldest
       order by turn, due_at
    )
    select one.ctid
      from turns
     cross join lateral (select ctid from ${table}
                          where ctid = turns.row_id and due_at <= now() for update skip locked) as one
     limit $1`;
}
