import type { SealContext } from '@rms/base/secrets';
import type { Environment, Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { clientKeyContext, responseContext, secretContext, secretHeadersContext } from './contexts.ts';

/** A column with encrypted values. */
export interface SealedStore {
  readonly name: 'webhooks' | 'idempotency_keys';
  readonly idColumn: string;
  readonly sealedColumn: string;
  /** SQL condition that excludes expired values. */
  readonly live: string;
  readonly context: (ref: SealedRef) => SealContext;
}

const ofSecret = ({ id, ...tenant }: SealedRef) => secretContext({ ...tenant, webhookId: id });
const ofClientKey = ({ id, ...tenant }: SealedRef) => clientKeyContext({ ...tenant, webhookId: id });
const ofHeaders = ({ id, ...tenant }: SealedRef) => secretHeadersContext({ ...tenant, webhookId: id });
const ofResponse = ({ id, ...tenant }: SealedRef) => responseContext({ ...tenant, key: id });

export const sealedStores: readonly SealedStore[] = [
  { name: 'webhooks', idColumn: 'id', sealedColumn: 'secret_sealed', live: 'true', context: ofSecret },
  {
    name: 'webhooks',
    idColumn: 'id',
    sealedColumn: 'previous_secret_sealed',
    live: 'previous_secret_until > now()',
    context: ofSecret,
  },
  {
    name: 'webhooks',
    idColumn: 'id',
    sealedColumn: 'client_key_sealed',
    live: 'client_key_sealed is not null',
    context: ofClientKey,
  },
  {
    name: 'webhooks',
    idColumn: 'id',
    sealedColumn: 'secret_headers_sealed',
    live: 'secret_headers_sealed is not null',
    context: ofHeaders,
  },
  {
    name: 'idempotency_keys',
    idColumn: 'key',
    sealedColumn: 'answer',
    live: 'expires_at > now()',
    context: ofResponse,
  },
];

/** The primary key of a row of any store. */
export interface SealedRef extends Tenant {
  readonly id: string;
}

/** A position in primary key order. All fields are empty at the beginning. */
export type Position = Readonly<Record<keyof SealedRef, string>>;

export interface SealedRow extends SealedRef {
  readonly sealed: Buffer;
}

/**
 * Reads up to `limit` rows after `after`, in primary key order, with values not encrypted with the key `keyId`, and
 * locks them until the transaction ends. If another transaction has locked a row, the query waits for it and checks the
 * row again, so rows that have been re-encrypted since then are excluded. All callers lock in the same order, so
 * that they cannot deadlock.
 */
export async function lockSealedByOthers(
  tx: Queryable,
  { name, idColumn, sealedColumn, live }: SealedStore,
  keyId: string,
  after: Position,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await tx.query<{
    workspace_id: string;
    environment: Environment;
    id: string;
    sealed: Buffer;
  }>(
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

/** Replaces the encrypted values of rows that this transaction has locked. */
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

/** Counts the encrypted values per key. */
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

/** Reads the IDs of keys that encrypt webhook secrets. Skips through the index from one key to the next. */
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
