import type { SealContext } from '@rms/base/secrets';
import type { Queryable } from '@rms/postgres/db';

/** A column of encrypted values. */
export interface SealedStore {
  readonly table: 'users' | 'mail_requests' | 'idempotency_keys';
  /** Unique column. Default: id. */
  readonly idColumn?: string;
  readonly column: string;
  /** SQL condition that excludes expired or empty values. */
  readonly live: string;
  readonly context: (id: string) => SealContext;
}

export interface SealedRow {
  readonly id: string;
  readonly sealed: Buffer;
}

/**
 * Returns up to `limit` rows after ID `after`, in ID order, that are encrypted with a key other than `keyId`. Locks
 * them until the transaction ends.
 */
export async function lockSealedByOthers(
  tx: Queryable,
  { table, idColumn = 'id', column, live }: SealedStore,
  keyId: string,
  after: string,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await tx.query<SealedRow>(
    `select ${idColumn} as id, ${column} as sealed from auth.${table}
      where substring(${column} from 1 for 4) <> decode($1, 'hex') and ${live} and ${idColumn} > $2
      order by ${idColumn} limit $3 for no key update`,
    [keyId, after, limit],
  );
  return rows;
}

/** Replaces the encrypted values of rows that this transaction has locked. */
export async function writeSealed(
  tx: Queryable,
  { table, idColumn = 'id', column }: SealedStore,
  rows: readonly SealedRow[],
): Promise<void> {
  await tx.query(
    `update auth.${table} as t set ${column} = r.sealed
       from unnest($1::text[], $2::bytea[]) as r (id, sealed) where t.${idColumn} = r.id`,
    [rows.map(({ id }) => id), rows.map(({ sealed }) => sealed)],
  );
}

/** Returns the number of values that each key has encrypted. */
export async function countByKey(
  db: Queryable,
  stores: readonly SealedStore[],
): Promise<{ keyId: string; count: number }[]> {
  const all = stores.map(
    ({ table, column, live }) => `select substring(${column} from 1 for 4) as key_id from auth.${table} where ${live}`,
  );
  const { rows } = await db.query<{ key_id: string; count: string }>(
    `select encode(key_id, 'hex') as key_id, count(*) as count from (${all.join(' union all ')}) as sealed
      group by key_id order by key_id`,
  );
  return rows.map(({ key_id, count }) => ({ keyId: key_id, count: Number(count) }));
}
