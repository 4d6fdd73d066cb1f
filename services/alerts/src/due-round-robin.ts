import { isLaterThan } from './impossible-times.ts';

/**
 * Returns SQL that locks up to $1 due rows and selects their `ctid`: the oldest row of each workspace, then the second
 * oldest of each, and so on, so that a workspace with many due rows does not delay the others. Skips rows that another
 * instance has locked. Skips from workspace to workspace in an index that begins with workspace_id and due_at: the cost
 * is one or two index lookups per workspace with rows, however many rows it has, and $1 rows of $1 workspaces.
 *
 * A row that is due later than `longestWaitMs` from now was written while the database's clock was ahead. It is due
 * immediately.
 */
export function dueRoundRobin(
  table: 'alerts.notifications' | 'alerts.emails' | 'alerts.channel_messages',
  { condition = 'true', longestWaitMs }: { readonly condition?: string; readonly longestWaitMs: number },
): string {
  const isDue = 'due_at <= now()';
  const isImpossible = isLaterThan('due_at', longestWaitMs);
  const oldestOf = (isIncluded: string) => `
             (select ctid as row_id, workspace_id, due_at from ${table}
               where ${condition} and workspace_id = o.workspace_id and ${isIncluded} order by due_at limit $1)`;
  const earliest = (more: string) =>
    `select workspace_id, due_at from ${table} where ${condition} ${more} order by workspace_id, due_at limit 1`;
  return `
    with recursive owners (workspace_id, due_at) as (
      (${earliest('')})
      union all
      select next.* from owners as o cross join lateral (${earliest('and workspace_id > o.workspace_id')}) as next
    ), ranked as (
      select oldest.row_id, oldest.due_at,
             row_number() over (partition by oldest.workspace_id order by oldest.due_at, oldest.row_id) as round
        from (select workspace_id from owners
               where ${isDue}
                  or exists (select from ${table}
                              where ${condition} and workspace_id = owners.workspace_id and ${isImpossible})
               order by due_at limit $1) as o
       cross join lateral (${oldestOf(isDue)} union all ${oldestOf(isImpossible)}) as oldest
       order by round, due_at
    )
    select one.ctid
      from ranked
     cross join lateral (select ctid from ${table}
                          where ctid = ranked.row_id and (${isDue} or ${isImpossible}) for update skip locked) as one
     limit $1`;
}
