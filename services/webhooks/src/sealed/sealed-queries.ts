import type { Queryable } from '@rms/db';

/** Where sealed bytes are. The third part of the key is the context that they are sealed for. */
export interface SealedStore {
  readonly name: 'webhooks' | 'idempotency_keys';
  readonly idColumn: string;
  readonly sealedColumn: string;
  /** What is left out has had its time. */
  readonly live: string;
}

export const sealedStores: readonly SealedStore[] = [
  { name: 'webhooks', idColumn: 'id', sealedColumn: 'secret_sealed', live: 'true' },
  {
    name: 'webhooks',
    idColumn: 'id',
    sealedColumn: 'previous_secret_sealed',
    live: 'previous_secret_until > now()',
  },
  { name: 'webhooks', idColumn: 'id', sealedColumn: 'client_key_sealed', live: 'client_key_sealed is not null' },
  { name: 'idempotency_keys', idColumn: 'key', sealedColumn: 'answer', live: 'expires_at > now()' },
];

/** The primary key of a row of either store, as far as a walk goes by it. */
export interface SealedRef {
  readonly workspaceId: string;
  readonly environment: string;
  readonly id: string;
}

export interface SealedRow extends SealedRef {
  readonly sealed: Buffer;
}

/**
 * Up to `limit` rows after `after`, in the order of the primary key, that another key than `keyId` has sealed; locked until
 * the transaction ends. A row that another transaction holds is waited for and looked at again: one that has been sealed
 * anew meanwhile is not among them. All walks lock in one order, so that none waits for another in a circle.
 */
export async function lockSealedByOthers(
  tx: Queryable,
  { name, idColumn, sealedColumn, live }: SealedStore,
  keyId: string,
  after: SealedRef,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await tx.query<{ workspace_id: string; environment: string; id: string; sealed: Buffer }>(
    `select workspace_id, environment, ${idColumn} as id, ${sealedColumn} as sealed
       from webhooks.${name}
      where substring(${sealedColumn} from 1 for 4) <> decode($1, 'hex') and ${live}
        and (workspace_id, environment, ${idColumn}) > ($2, $3, $4)
      order by workspace_id, environment, ${idColumn} limit $5
        for no key update`,
    [keyId, after.workspaceId, after.environment, after.id, limit],
  );
  return rows.map(({ workspace_id: workspaceId, environment, id, sealed }) => ({
    workspaceId,
    environment,
    id,
    sealed,
  }));
}

/** Replaces the sealed bytes of rows that this transaction has locked. */
export async function writeSealed(
  tx: Queryable,
  { name, idColumn, sealedColumn }: SealedStore,
  rows: readonly SealedRow[],
): Promise<void> {
  await tx.query(
    `update webhooks.${name} as t set ${sealedColumn} = r.sealed
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

/** How much each key has sealed. */
export async function countByKey(db: Queryable): Promise<{ keyId: string; count: number }[]> {
  const all = sealedStores.map(
    ({ name, sealedColumn, live }) =>
      `select substring(${sealedColumn} from 1 for 4) as key_id from webhooks.${name} where ${live}`,
  );
  const { rows } = await db.query<{ key_id: string; count: string }>(
    `select encode(key_id, 'hex') as key_id, count(*) as count from (${all.join(' union all ')}) as sealed
      group by key_id order by key_id`,
  );
  return rows.map(({ key_id, count }) => ({ keyId: key_id, count: Number(count) }));
}

/** The keys that have sealed secrets of webhooks; reads the index from one key to the next. */
export async function keysOfSecrets(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ key_id: string }>(`
    with recursive keys (key_id) as (
      (select substring(secret_sealed from 1 for 4) from webhooks.webhooks
        order by substring(secret_sealed from 1 for 4) limit 1)
      union all
      select (select substring(w.secret_sealed from 1 for 4) from webhooks.webhooks as w
               where substring(w.secret_sealed from 1 for 4) > k.key_id
               order by substring(w.secret_sealed from 1 for 4) limit 1)
        from keys as k where k.key_id is not null
    )
    select encode(key_id, 'hex') as key_id from keys where key_id is not null`);
  return rows.map(({ key_id }) => key_id);
}
