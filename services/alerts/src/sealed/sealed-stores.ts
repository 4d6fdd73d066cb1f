import type { SealContext } from '@rms/base/secrets';
import type { Environment } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { channelContext, emailContext, responseContext } from './contexts.ts';

/** A column of encrypted values. */
export interface SealedStore {
  readonly table: 'mails' | 'channels' | 'idempotency_keys';
  readonly idColumn: 'id' | 'key';
  readonly column: 'content' | 'secret' | 'answer';
  /** SQL condition that excludes ended, expired or missing values. */
  readonly live: string;
  readonly context: (ref: SealedRef) => SealContext;
}

/** All encrypted columns of this service. */
export const sealedStores: readonly SealedStore[] = [
  { table: 'mails', idColumn: 'id', column: 'content', live: "state = 'queued'", context: emailContext },
  { table: 'channels', idColumn: 'id', column: 'secret', live: 'secret is not null', context: channelContext },
  {
    table: 'idempotency_keys',
    idColumn: 'key',
    column: 'answer',
    live: 'expires_at > now()',
    context: ({ id, workspaceId, environment }) =>
      responseContext({ workspaceId, environment: environment as Environment, key: id }),
  },
];

/** The primary key of a row of any store, with the columns in its order. */
export interface SealedRef {
  readonly workspaceId: string;
  readonly environment: string;
  readonly id: string;
}

export interface SealedRow extends SealedRef {
  readonly sealed: Buffer;
}

/**
 * Returns up to `limit` rows of a store after `after` that are encrypted with a key other than `keyId`. Locks them until
 * the transaction ends.
 */
export async function lockSealedByOthers(
  tx: Queryable,
  { table, idColumn, column, live }: SealedStore,
  keyId: string,
  after: SealedRef,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await tx.query<{ workspace_id: string; environment: string; id: string; sealed: Buffer }>(
    `select workspace_id, environment, ${idColumn} as id, ${column} as sealed from alerts.${table}
      where ${live} and substring(${column} from 1 for 4) <> decode($1, 'hex')
        and (workspace_id, environment, ${idColumn}) > ($2, $3, $4)
      order by workspace_id, environment, ${idColumn} limit $5 for no key update`,
    [keyId, after.workspaceId, after.environment, after.id, limit],
  );
  return rows.map(({ workspace_id: workspaceId, ...row }) => ({ workspaceId, ...row }));
}

/** Replaces the encrypted values of rows that this transaction has locked. */
export async function writeSealed(
  tx: Queryable,
  { table, idColumn, column }: SealedStore,
  rows: readonly SealedRow[],
): Promise<void> {
  await tx.query(
    `update alerts.${table} as t set ${column} = r.sealed
       from unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) as r (workspace_id, environment, id, sealed)
      where t.workspace_id = r.workspace_id and t.environment = r.environment and t.${idColumn} = r.id`,
    [
      rows.map(({ workspaceId }) => workspaceId),
      rows.map(({ environment }) => environment),
      rows.map(({ id }) => id),
      rows.map(({ sealed }) => sealed),
    ],
  );
}

/** Returns the number of values in all stores that each key has encrypted. */
export async function countByKey(db: Queryable): Promise<{ keyId: string; count: bigint }[]> {
  const all = sealedStores.map(
    ({ table, column, live }) =>
      `select substring(${column} from 1 for 4) as key_id from alerts.${table} where ${live}`,
  );
  const { rows } = await db.query<{ key_id: string; count: string }>(
    `select encode(key_id, 'hex') as key_id, count(*) as count from (${all.join(' union all ')}) as sealed
      group by key_id order by key_id`,
  );
  return rows.map(({ key_id, count }) => ({ keyId: key_id, count: BigInt(count) }));
}
