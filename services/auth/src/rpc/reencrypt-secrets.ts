import { reseal, type SecretBox } from '@rms/base/secrets';
import { appendAudit, reencryptionStarted } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import type { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { type SealedRow, type SealedStore, sealedStores } from '../sealed/sealed-stores.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Re-encrypts one batch of stored secrets with the current key. The page token is "<store index>/<last processed ID>".
 */
export function reencryptSecrets({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return async ({ pageToken }, context) => {
    const [, index = '', after = ''] = /^(\d)\/(\w*)$/.exec(pageToken || '0/') ?? [];
    const at = Number(index);
    const store = index === '' ? undefined : sealedStores[at];
    if (!store) throw invalid('page_token', 'is not a page token of this method');
    if (pageToken === '') await appendAudit(pool, context, [reencryptionStarted('auth', box.keyId)]);
    const { resealed, unreadable, next } = await reencryptBatch(pool, box, store, after);
    if (resealed + unreadable.length > 0) {
      log.info({ store: store.table, resealed, unreadable: unreadable.length }, 're-encrypted with the current key');
    }
    const isLast = next === undefined && at + 1 === sealedStores.length;
    const sealed = isLast ? await countByKey(pool, sealedStores) : [];
    return {
      resealed,
      unreadable: unreadable.length,
      unreadableUserIds: store.table === 'users' ? [...unreadable] : [],
      nextPageToken: isLast ? '' : next === undefined ? `${at + 1}/` : `${at}/${next}`,
      sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count: BigInt(count) })),
      hasPreviousKeys: box.hasPreviousKeys,
    };
  };
}

const batchSize = 500;

interface ReencryptedBatch {
  readonly resealed: number;
  /** IDs of rows that no configured key decrypts. They stay unchanged. */
  readonly unreadable: readonly string[];
  /** Last processed ID; the next batch starts after it. undefined after the last batch. */
  readonly next: string | undefined;
}

/** Re-encrypts one batch of a store with the current key, in one short transaction. */
async function reencryptBatch(
  pool: Pool,
  box: SecretBox,
  store: SealedStore,
  after: string,
): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const rows = await lockSealedByOthers(tx, store, box.keyId, after, batchSize);
    const { resealed, unreadable } = reseal(box, rows, ({ id }) => store.context(id));
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return {
      resealed: resealed.length,
      unreadable: unreadable.map(({ id }) => id),
      next: rows.length < batchSize ? undefined : rows.at(-1)?.id,
    };
  });
}

/**
 * Returns up to `limit` rows after ID `after`, in ID order, that are encrypted with a key other than `keyId`. Locks
 * them until the transaction ends.
 */
async function lockSealedByOthers(
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
async function writeSealed(
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
async function countByKey(db: Queryable, stores: readonly SealedStore[]): Promise<{ keyId: string; count: number }[]> {
  const all = stores.map(
    ({ table, column, live }) => `select substring(${column} from 1 for 4) as key_id from auth.${table} where ${live}`,
  );
  const { rows } = await db.query<{ key_id: string; count: string }>(
    `select encode(key_id, 'hex') as key_id, count(*) as count from (${all.join(' union all ')}) as sealed
      group by key_id order by key_id`,
  );
  return rows.map(({ key_id, count }) => ({ keyId: key_id, count: Number(count) }));
}
