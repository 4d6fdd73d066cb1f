import type { Queryable } from '../db/index.ts';
import type { Part, WorkspaceContents } from './contents.ts';

type Schema = WorkspaceContents['schema'];

/** Rows per statement, so that each statement ends long before its deadline. */
export const rowsPerBatch = 500;

/** Late rows of a deleted workspace are deleted for this long; see {@link sweepDeletedWorkspaces}. */
const keptDays = 30;
const firstSweepMinutes = 10;

/** Records that a workspace is deleted. Has no effect if that is recorded already. */
export async function insertDeleted(db: Queryable, schema: Schema, workspaceId: string): Promise<void> {
  await db.query(
    `insert into ${schema}.deleted_workspaces (workspace_id, sweep_at)
     values ($1, now() + interval '${firstSweepMinutes} minutes') on conflict (workspace_id) do nothing`,
    [workspaceId],
  );
}

/** Locks a deleted workspace until the transaction ends, so that one batch at a time is deleted. */
export async function lockDeleted(tx: Queryable, schema: Schema, workspaceId: string): Promise<void> {
  await tx.query(`select from ${schema}.deleted_workspaces where workspace_id = $1 for update`, [workspaceId]);
}

/** A range of values of the column `by`, both included. */
interface Range {
  readonly first: string;
  readonly last: string;
  /** Rows that were read, at most {@link rowsPerBatch}. */
  readonly rows: number;
}

/** Reads the next rows' range of a part after a value; undefined if there are none. */
export async function readRange(
  tx: Queryable,
  workspaceId: string,
  { table: { name, by }, environment }: Part,
  after: string | undefined,
): Promise<Range | undefined> {
  const { rows } = await tx.query<Range>(
    `select min(${by})::text as first, max(${by})::text as last, count(*)::integer as rows
       from (select ${by} from ${name}
              where workspace_id = $1 and ${ofEnvironment(environment)}
                ${after === undefined ? 'and $3::text is null' : `and ${by} > $3`}
              order by ${by} limit ${rowsPerBatch}) as next`,
    [workspaceId, environment ?? null, after ?? null],
  );
  const [range] = rows;
  return range && range.rows > 0 ? range : undefined;
}

/** Deletes a range's rows and returns their number. Both bounds are known, so few partitions are read. */
export async function deleteRange(
  tx: Queryable,
  workspaceId: string,
  { table: { name, by }, environment }: Part,
  { first, last }: Range,
): Promise<number> {
  const { rowCount } = await tx.query(
    `delete from ${name}
      where workspace_id = $1 and ${ofEnvironment(environment)}
        and ${by} >= $3 and ${by} <= $4`,
    [workspaceId, environment ?? null, first, last],
  );
  return rowCount ?? 0;
}

/** Condition of a part's rows; parameter 2 is the environment or null. */
function ofEnvironment(environment: Part['environment']): string {
  return environment === undefined ? '$2::text is null' : 'environment = $2';
}

/** Adds to the number of deleted rows of a table. */
export async function addDeletedRows(
  tx: Queryable,
  schema: Schema,
  workspaceId: string,
  table: string,
  rows: number,
): Promise<void> {
  await tx.query(
    `update ${schema}.deleted_workspaces
        set deleted_rows = deleted_rows
            || jsonb_build_object($2::text, coalesce((deleted_rows ->> $2::text)::bigint, 0) + $3::bigint)
      where workspace_id = $1`,
    [workspaceId, table, rows],
  );
}

/** Returns the numbers of deleted rows by table, of all calls together. */
export async function readDeletedRows(
  db: Queryable,
  schema: Schema,
  workspaceId: string,
): Promise<Record<string, number>> {
  const { rows } = await db.query<{ deleted_rows: Record<string, number> }>(
    `select deleted_rows from ${schema}.deleted_workspaces where workspace_id = $1`,
    [workspaceId],
  );
  return rows[0]?.deleted_rows ?? {};
}

/** Returns up to `limit` deleted workspaces with a due sweep, the longest overdue ones first. */
export async function readDueSweeps(db: Queryable, schema: Schema, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ workspace_id: string }>(
    `select workspace_id from ${schema}.deleted_workspaces where sweep_at <= now() order by sweep_at limit $1`,
    [limit],
  );
  return rows.map((row) => row.workspace_id);
}

/** Schedules the next sweep when the deletion is twice as old, or forgets a workspace after {@link keptDays}. */
export async function endSweep(db: Queryable, schema: Schema, workspaceId: string): Promise<void> {
  const { rowCount } = await db.query(
    `delete from ${schema}.deleted_workspaces
      where workspace_id = $1 and deleted_at < ${schema}.agreed_now() - interval '${keptDays} days'`,
    [workspaceId],
  );
  if (rowCount === 1) return;
  await db.query(
    `update ${schema}.deleted_workspaces
        set sweep_at = now() + greatest(now() - deleted_at, interval '${firstSweepMinutes} minutes')
      where workspace_id = $1`,
    [workspaceId],
  );
}
