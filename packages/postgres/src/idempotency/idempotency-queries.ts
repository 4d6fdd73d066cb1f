import type { Tenant } from '@rms/base/tenant';
import { deleteInBatches, type Queryable } from '../db/index.ts';

/** Database schema with a table `idempotency_keys`, which has the same columns in each, and `agreed_now()`. */
export type IdempotencySchema = 'webhooks' | 'auth' | 'alerts';

/** Primary key of a record. */
export interface IdempotencyRef extends Tenant {
  readonly key: string;
}

/** A key that a request has claimed. */
export interface ClaimedRef extends IdempotencyRef {
  /** The `answer` stored by the claim: an empty response. It is unique, because encryption is randomized. */
  readonly claim: Buffer;
}

/** A key's record. */
export interface StoredResponse {
  /** SHA-256 of the request. */
  readonly fingerprint: Buffer;
  /** Encrypted. Decrypts to zero bytes while the request is in progress. */
  readonly answer: Buffer;
}

/** Claims a key for `seconds`. Returns false if it is taken. Waits for a concurrent transaction that claims it. */
export async function claimKey(
  tx: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key }: IdempotencyRef,
  { fingerprint, answer }: StoredResponse,
  seconds: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into ${schema}.idempotency_keys as k (workspace_id, environment, key, fingerprint, answer, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 second')
         on conflict (workspace_id, environment, key) do update
        set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
      where k.expires_at <= ${schema}.agreed_now()`,
    [workspaceId, environment, key, fingerprint, answer, seconds],
  );
  return rowCount === 1;
}

/** Stores the response under a claimed key for `seconds`, unless another request has claimed the key since. */
export async function storeResponse(
  db: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key, claim }: ClaimedRef,
  answer: Buffer,
  seconds: number,
): Promise<void> {
  await db.query(
    `update ${schema}.idempotency_keys set answer = $5, expires_at = now() + $6 * interval '1 second'
      where workspace_id = $1 and environment = $2 and key = $3 and answer = $4`,
    [workspaceId, environment, key, claim, answer, seconds],
  );
}

/** Releases a claimed key, unless another request has claimed it since. */
export async function releaseKey(
  db: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key, claim }: ClaimedRef,
): Promise<void> {
  await db.query(
    `delete from ${schema}.idempotency_keys where workspace_id = $1 and environment = $2 and key = $3 and answer = $4`,
    [workspaceId, environment, key, claim],
  );
}

/** Reads the response stored under a key; undefined without one, or if it has expired. */
export async function readResponse(
  db: Queryable,
  schema: IdempotencySchema,
  { workspaceId, environment, key }: IdempotencyRef,
): Promise<StoredResponse | undefined> {
  const { rows } = await db.query<{ fingerprint: Buffer; answer: Buffer }>(
    `select fingerprint, answer from ${schema}.idempotency_keys
      where workspace_id = $1 and environment = $2 and key = $3 and expires_at > ${schema}.agreed_now()`,
    [workspaceId, environment, key],
  );
  return rows[0];
}

/** Deletes expired keys. Returns the number of deleted keys. */
export function deleteExpiredKeys(
  db: Queryable,
  schema: IdempotencySchema | 'resources',
  signal?: AbortSignal,
): Promise<number> {
  return deleteInBatches(db, `${schema}.idempotency_keys`, { where: `expires_at <= ${schema}.agreed_now()` }, signal);
}
