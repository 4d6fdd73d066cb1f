import type { Queryable } from '@rms/db';

/** Where sealed bytes are, and what they are sealed for. */
export interface SealedStore {
  readonly table: 'users' | 'mail_requests';
  readonly column: string;
  /** What is left out has had its time. */
  readonly live: string;
  readonly context: (id: string) => string;
}

export interface SealedRow {
  readonly id: string;
  readonly sealed: Buffer;
}

/**
 * Up to `limit` rows after `after`, in the order of the ids, that another key than `keyId` has sealed; locked until the
 * transaction ends.
 */
export async function lockSealedByOthers(
  tx: Queryable,
  { table, column, live }: SealedStore,
  keyId: string,
  after: string,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await tx.query<SealedRow>(
    `select id, ${column} as sealed from auth.${table}
      where substring(${column} from 1 for 4) <> decode($1, 'hex') and ${live} and id > $2
      order by id limit $3 for no key update`,
    [keyId, after, limit],
  );
  return rows;
}

/** Replaces the sealed bytes of rows that this transaction has locked. */
export async function writeSealed(
  tx: Queryable,
  { table, column }: SealedStore,
  rows: readonly SealedRow[],
): Promise<void> {
  await tx.query(
    `update auth.${table} as t set ${column} = r.sealed
       from unnest($1::text[], $2::bytea[]) as r (id, sealed) where t.id = r.id`,
    [rows.map(({ id }) => id), rows.map(({ sealed }) => sealed)],
  );
}

/** How much each key has sealed. */
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
