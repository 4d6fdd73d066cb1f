import type { Pool } from '@rms/postgres/db';

interface Column {
  readonly name: string;
  readonly type: string;
  /** Whether a row needs a value: the column is not nullable and has no default. */
  readonly required: boolean;
  /** Values that a check constraint allows; empty: any. */
  readonly allowed: readonly string[];
}

interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

/** Rows per table, workspace and environment, where the primary key allows several. */
const rowsPerTenant = 3;

/**
 * Inserts rows of a workspace into every table with a column workspace_id, also into tables that are added later. Only
 * columns that need a value get one.
 * @param special SQL expressions of columns ("schema.table.column"); `n` is the row's number
 */
export async function fillWorkspace(
  pool: Pool,
  workspaceId: string,
  special: Readonly<Record<string, string>> = {},
): Promise<void> {
  const client = await pool.connect();
  try {
    // Disables foreign keys and triggers.
    await client.query('set session_replication_role = replica');
    for (const table of await readTables(pool)) {
      const columns = table.columns.filter(({ name, required }) => required || special[`${table.name}.${name}`]);
      const environments = columns.find(({ name }) => name === 'environment')?.allowed ?? [];
      const values = columns.map((column) => expressionOf(table, column, special));
      await client.query(
        `insert into ${table.name} (${columns.map(({ name }) => name).join(', ')})
         select ${values.join(', ')}
           from unnest($2::text[]) with ordinality as e (environment, ordinal),
                lateral (select $1 || '_' || (ordinal * 10 + i) as text, ordinal * 10 + i as n
                           from generate_series(1, ${rowsPerTenant}) as i) as row
             on conflict do nothing`,
        [workspaceId, environments.length > 0 ? environments : ['live', 'sandbox']],
      );
    }
  } finally {
    client.release(true);
  }
}

/** Returns a workspace's rows, as text, by table: every table with a column workspace_id. */
export async function rowsOfWorkspace(pool: Pool, workspaceId: string): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const { name } of await readTables(pool)) {
    const { rows } = await pool.query<{ row: string }>(
      `select to_jsonb(t)::text as row from ${name} as t where workspace_id = $1 order by 1`,
      [workspaceId],
    );
    found[name] = rows.map(({ row }) => row);
  }
  return found;
}

function expressionOf(
  table: Table,
  { name, type, allowed }: Column,
  special: Readonly<Record<string, string>>,
): string {
  const given = special[`${table.name}.${name}`];
  if (given !== undefined) return given;
  if (name === 'workspace_id') return '$1';
  if (name === 'environment') return 'environment';
  if (allowed.length > 0) return `'${allowed[0]}'`;
  if (type === 'text') return 'row.text';
  if (type === 'bytea') return 'sha256(row.text::bytea)';
  if (type === 'boolean') return 'false';
  if (type === 'json' || type === 'jsonb') return `'{}'`;
  if (type.endsWith('[]')) return `'{}'`;
  if (type === 'date') return 'current_date + row.n::integer';
  return type.startsWith('timestamp') ? 'now()' : 'n';
}

async function readTables(pool: Pool): Promise<Table[]> {
  const { rows } = await pool.query<Table>(
    `select a.attrelid::regclass::text as name, json_agg(json_build_object(
              'name', a.attname,
              'type', format_type(a.atttypid, null),
              'required', a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attgenerated = '',
              'allowed', coalesce((
                select json_agg(m[1]) from pg_constraint as k,
                       regexp_matches(pg_get_constraintdef(k.oid), '''([a-z_]*)''::text', 'g') as m
                 where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]), '[]')
            ) order by a.attnum) as columns
       from pg_attribute as a
       join pg_class as c on c.oid = a.attrelid
       join pg_namespace as s on s.oid = c.relnamespace
      where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
        and s.nspname not like 'pg\\_%' and s.nspname <> 'information_schema'
        and exists (select from pg_attribute as w
                     where w.attrelid = c.oid and w.attname = 'workspace_id' and not w.attisdropped)
      group by 1 order by 1`,
  );
  return rows;
}
