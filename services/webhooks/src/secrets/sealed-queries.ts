import type { Queryable } from '@rms/db';

/** A column that holds what is sealed. Names are constants of ours. */
export interface SealedColumn {
  readonly table: 'webhooks.webhooks' | 'webhooks.idempotency_keys';
  readonly column: 'secret_sealed' | 'answer';
  /** The column that the seal is bound to; with workspace and environment the primary key. */
  readonly boundTo: 'id' | 'key';
}

export const sealedColumns: readonly SealedColumn[] = [
  { table: 'webhooks.webhooks', column: 'secret_sealed', boundTo: 'id' },
  { table: 'webhooks.idempotency_keys', column: 'answer', boundTo: 'key' },
];

/** Something that was sealed with an earlier key. */
export interface SealedRow {
  readonly workspaceId: string;
  readonly environment: string;
  readonly context: string;
  readonly sealed: Buffer;
}

/** Where a walk stands: the primary key of the last row. */
export type SealedCursor = readonly [workspaceId: string, environment: string, context: string];

/** The next rows, in the order of the primary key, that another key than this one has sealed. */
export async function readSealedByOthers(
  db: Queryable,
  { table, column, boundTo }: SealedColumn,
  keyId: string,
  after: SealedCursor,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await db.query<SealedRow>(
    `select workspace_id as "workspaceId", environment, ${boundTo} as context, ${column} as sealed from ${table}
      where (workspace_id, environment, ${boundTo}) > ($1, $2, $3) and substring(${column} from 1 for 4) <> $4
      order by workspace_id, environment, ${boundTo} limit $5`,
    [...after, Buffer.from(keyId, 'hex'), limit],
  );
  return rows;
}

/** Puts new seals in the place of those that were read. What was changed meanwhile stays as it is. */
export async function replaceSealed(
  db: Queryable,
  { table, column, boundTo }: SealedColumn,
  changes: readonly { readonly row: SealedRow; readonly sealed: Buffer }[],
): Promise<number> {
  const { rowCount } = await db.query(
    `update ${table} as t set ${column} = change.after
       from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bytea[])
            as change (workspace_id, environment, context, before, after)
      where t.workspace_id = change.workspace_id and t.environment = change.environment
        and t.${boundTo} = change.context and t.${column} = change.before`,
    [
      changes.map(({ row }) => row.workspaceId),
      changes.map(({ row }) => row.environment),
      changes.map(({ row }) => row.context),
      changes.map(({ row }) => row.sealed),
      changes.map(({ sealed }) => sealed),
    ],
  );
  return rowCount ?? 0;
}
