import type { PoolClient } from './statements.ts';

const indexName = /index concurrently (?:if not exists )?(\w+) on/i;

/**
 * Drops the index that a CREATE INDEX CONCURRENTLY statement of a schema creates, if an interrupted run left it
 * invalid. Queries do not use an invalid index, but writes maintain it, and IF NOT EXISTS skips it. Returns whether it
 * dropped an index.
 */
export async function dropInvalidIndex(client: PoolClient, schema: string, sql: string): Promise<boolean> {
  const name = indexName.exec(sql.replaceAll(/\s+/g, ' '))?.[1];
  if (name === undefined) return false;
  const { rows } = await client.query<{ index: string }>(
    `select format('%I.%I', n.nspname, c.relname) as index
       from pg_index as i join pg_class as c on c.oid = i.indexrelid join pg_namespace as n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = lower($2) and not i.indisvalid`,
    [schema, name],
  );
  if (!rows[0]) return false;
  await client.query(`drop index concurrently if exists ${rows[0].index}`);
  return true;
}
