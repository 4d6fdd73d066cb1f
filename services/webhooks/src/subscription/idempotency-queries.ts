import type { Queryable } from '@rms/db';
import type { Tenant } from './webhook.ts';

/** Who asked, with which Idempotency-Key. */
export interface IdempotencyRef extends Tenant {
  readonly key: string;
}

/**
 * Claims a key for 24 hours, or answers with false if it is taken. Another transaction that is claiming it is waited for.
 */
export async function claimKey(
  tx: Queryable,
  { workspaceId, environment, key }: IdempotencyRef,
  fingerprint: Buffer,
  answer: Buffer,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into webhooks.idempotency_keys as k (workspace_id, environment, key, fingerprint, answer, expires_at)
     values ($1, $2, $3, $4, $5, now() + interval '24 hours')
         on conflict (workspace_id, environment, key) do update
        set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
      where k.expires_at <= now()`,
    [workspaceId, environment, key, fingerprint, answer],
  );
  return rowCount === 1;
}

/** What stands under a key that is taken. */
export async function readAnswer(
  db: Queryable,
  { workspaceId, environment, key }: IdempotencyRef,
): Promise<{ fingerprint: Buffer; answer: Buffer } | undefined> {
  const { rows } = await db.query<{ fingerprint: Buffer; answer: Buffer }>(
    `select fingerprint, answer from webhooks.idempotency_keys
      where workspace_id = $1 and environment = $2 and key = $3 and expires_at > now()`,
    [workspaceId, environment, key],
  );
  return rows[0];
}

/** Removes answers whose 24 hours are over. */
export async function deleteExpiredKeys(db: Queryable): Promise<number> {
  const { rowCount } = await db.query('delete from webhooks.idempotency_keys where expires_at <= now()');
  return rowCount ?? 0;
}
