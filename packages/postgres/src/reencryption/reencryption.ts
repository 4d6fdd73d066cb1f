import { RmsError } from '@rms/base/errors';
import { reseal, type SealContext, type SecretBox } from '@rms/base/secrets';
import type { Logger } from '@rms/runtime/logging';
import { type AuditOrigin, appendAudit } from '../audit/index.ts';
import { inTransaction, type Pool, type Queryable } from '../db/index.ts';

/** A column of encrypted values. `Key` is the primary key of its table. */
export interface SealedStore<Key extends readonly string[]> {
  /** Name with schema. */
  readonly table: string;
  readonly keyColumns: { readonly [I in keyof Key]: string };
  readonly column: string;
  /** SQL condition that excludes ended, expired or missing values. */
  readonly live: string;
  readonly context: (key: Key) => SealContext;
}

interface SealedRow<Key> {
  readonly key: Key;
  readonly sealed: Buffer;
}

export interface ReencryptedBatch<Key extends readonly string[]> {
  readonly store: SealedStore<Key>;
  /** Keys of rows that no configured key decrypts. They stay unchanged. */
  readonly unreadable: readonly Key[];
  /** Fields of the responses of all services. */
  readonly response: {
    readonly resealed: number;
    readonly unreadable: number;
    readonly nextPageToken: string;
    readonly sealed: { readonly keyId: string; readonly current: boolean; readonly count: bigint }[];
    readonly hasPreviousKeys: boolean;
  };
}

const batchSize = 500;

/**
 * Creates a function that re-encrypts one batch of a service's stored secrets with the current key, in one short
 * transaction. A page token is the index of the store and the last processed primary key: "0/ws_…/live/wh_…".
 */
export function createReencryption<Key extends readonly string[]>(parts: {
  readonly pool: Pool;
  readonly box: SecretBox;
  readonly log: Logger;
  readonly service: 'auth' | 'webhooks' | 'alerts';
  /** All encrypted columns of the service. */
  readonly stores: readonly SealedStore<Key>[];
}): (pageToken: string, origin: AuditOrigin) => Promise<ReencryptedBatch<Key>> {
  const { pool, box, log, service, stores } = parts;
  return async (pageToken, origin) => {
    const { at, store, after } = readPosition(stores, pageToken);
    if (pageToken === '') {
      const target = { id: '', name: service };
      const details = { current: box.keyId };
      await appendAudit(pool, origin, [{ workspaceId: '', target, action: 'secrets.reencryption_started', details }]);
    }
    const { rows, resealed, unreadable } = await inTransaction(pool, async (tx) => {
      const locked = await lockSealedByOthers(tx, store, box.keyId, after);
      const done = reseal(box, locked, ({ key }) => store.context(key));
      if (done.resealed.length > 0) await writeSealed(tx, store, done.resealed);
      return { rows: locked, ...done };
    });
    const counts = { resealed: resealed.length, unreadable: unreadable.length };
    if (rows.length > 0) {
      log.info(
        { request_id: origin.requestId, store: store.table, ...counts },
        'secrets re-encrypted with the current key',
      );
    }
    const last = rows.length < batchSize ? undefined : rows.at(-1);
    const isLast = !last && at + 1 === stores.length;
    const next = last ? [at, ...last.key] : [at + 1, ...store.keyColumns.map(() => '')];
    const sealed = isLast ? await countByKey(pool, stores) : [];
    return {
      store,
      unreadable: unreadable.map(({ key }) => key),
      response: {
        ...counts,
        nextPageToken: isLast ? '' : next.join('/'),
        sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count: BigInt(count) })),
        hasPreviousKeys: box.hasPreviousKeys,
      },
    };
  };
}

function readPosition<Key extends readonly string[]>(stores: readonly SealedStore<Key>[], pageToken: string) {
  const [index = '', ...after] = pageToken === '' ? ['0'] : pageToken.split('/');
  const at = Number(index);
  const store = /^\d$/.test(index) ? stores[at] : undefined;
  if (!store || (pageToken !== '' && after.length !== store.keyColumns.length)) {
    throw new RmsError('invalid_request', {
      details: [{ field: 'page_token', message: 'is not a page token of this method' }],
    });
  }
  return { at, store, after: store.keyColumns.map((_, i) => after[i] ?? '') };
}

/**
 * Reads the rows after `after`, in primary key order, with values not encrypted with the key `keyId`, and locks them
 * until the transaction ends. If another transaction has locked a row, the query waits for it and checks the row again,
 * so rows that have been re-encrypted since then are excluded. All callers lock in the same order, so that they cannot
 * deadlock.
 */
async function lockSealedByOthers<Key extends readonly string[]>(
  tx: Queryable,
  { table, keyColumns, column, live }: SealedStore<Key>,
  keyId: string,
  after: readonly string[],
): Promise<SealedRow<Key>[]> {
  const columns = keyColumns.join(', ');
  const { rows } = await tx.query<SealedRow<Key>>(
    `select array[${columns}] as key, ${column} as sealed from ${table}
      where ${live} and substring(${column} from 1 for 4) <> decode($1, 'hex')
        and (${columns}) > (${after.map((_, i) => `$${i + 2}`).join(', ')})
      order by ${columns} limit ${batchSize} for no key update`,
    [keyId, ...after],
  );
  return rows;
}

/** Replaces the encrypted values of rows that this transaction has locked. */
async function writeSealed<Key extends readonly string[]>(
  tx: Queryable,
  { table, keyColumns, column }: SealedStore<Key>,
  rows: readonly SealedRow<Key>[],
): Promise<void> {
  const columns = keyColumns.join(', ');
  await tx.query(
    `update ${table} as t set ${column} = r.sealed
       from unnest($1::bytea[], ${keyColumns.map((_, i) => `$${i + 2}::text[]`).join(', ')}) as r (sealed, ${columns})
      where ${keyColumns.map((name) => `t.${name} = r.${name}`).join(' and ')}`,
    [rows.map(({ sealed }) => sealed), ...keyColumns.map((_, i) => rows.map(({ key }) => key[i]))],
  );
}

/** Returns the number of values in all stores that each key has encrypted. */
async function countByKey(
  db: Queryable,
  stores: readonly Pick<SealedStore<readonly string[]>, 'table' | 'column' | 'live'>[],
): Promise<{ keyId: string; count: string }[]> {
  const all = stores.map(
    ({ table, column, live }) => `select substring(${column} from 1 for 4) as key_id from ${table} where ${live}`,
  );
  const { rows } = await db.query<{ keyId: string; count: string }>(
    `select encode(key_id, 'hex') as "keyId", count(*) as count from (${all.join(' union all ')}) as sealed
      group by key_id order by key_id`,
  );
  return rows;
}
