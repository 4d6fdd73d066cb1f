import type { Client } from 'pg';

/**
 * Tables that services change without a request: next checks of alerts, queued notifications and emails, recent attempt
 * counts and counts of ended deliveries, the schedule of webhooks, the running instances, and the agreed clocks. And
 * those that record requests after their response, also refused ones: counts of requests and last refusals of keys. And
 * operational events that are not yet in a feed.
 */
const movedByServices = new Set([
  'alerts.clock',
  'alerts.evaluations',
  'alerts.notifications',
  'alerts.emails',
  'alerts.channel_messages',
  'alerts.operational_events',
  'audit.clock',
  'auth.clock',
  'auth.key_refusals',
  'auth.email_requests',
  'auth.request_counts',
  'auth.operational_events',
  'resources.clock',
  'webhooks.attempt_counts',
  'webhooks.clock',
  'webhooks.end_counts',
  'webhooks.endpoints',
  'webhooks.instances',
  'webhooks.operational_events',
]);

/** Returns every row of every table that belongs to a workspace and environment, as text. */
export async function rowsOf(db: Client, workspaceId: string, environment: string): Promise<Record<string, string[]>> {
  return rowsWhere(db, async (table, columns) => {
    if (columns.includes('environment'))
      return ['t.workspace_id = $1 and t.environment = $2', [workspaceId, environment]];
    if (columns.includes('workspace_id')) return ['t.workspace_id = $1', [workspaceId]];
    return table === 'auth.workspaces' ? ['t.id = $1', [workspaceId]] : undefined;
  });
}

/** Returns every row of every table, as text. */
export function allRows(db: Client): Promise<Record<string, string[]>> {
  return rowsWhere(db, async () => ['true', []]);
}

async function rowsWhere(
  db: Client,
  choose: (table: string, columns: string[]) => Promise<[condition: string, values: unknown[]] | undefined>,
): Promise<Record<string, string[]>> {
  const { rows: tables } = await db.query<{ name: string; columns: string[] }>(
    `select table_schema || '.' || table_name as name, array_agg(column_name::text) as columns
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
      group by 1 order by 1`,
  );
  const found: Record<string, string[]> = {};
  for (const { name, columns } of tables) {
    if (movedByServices.has(name)) continue;
    const chosen = await choose(name, columns);
    if (!chosen) continue;
    const [condition, values] = chosen;
    const { rows } = await db.query<{ row: string }>(
      `select t::text as row from ${name} as t where ${condition} order by 1`,
      values,
    );
    found[name] = rows.map(({ row }) => row);
  }
  return found;
}
