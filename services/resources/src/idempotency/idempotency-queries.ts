import type { Tenant } from '@rms/base/tenant';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';

/** The record of an Idempotency-Key. */
export interface StoredResponse extends Tenant {
  readonly key: string;
  readonly fingerprint: Buffer;
  /** The stored response: an encoded rms.resources.v1.Resource. */
  readonly response: Buffer;
}

/** Reads the records stored under `keys`, in any order. */
export async function readResponses(
  db: Queryable,
  keys: readonly (Tenant & { key: string })[],
): Promise<StoredResponse[]> {
  const { rows } = await db.query<StoredResponse>({
    name: 'idempotency-read',
    text: `
      select k.workspace_id as "workspaceId", k.environment, k.key, k.fingerprint, k.answer as response
        from unnest($1::text[], $2::text[], $3::text[]) as requested (workspace_id, environment, key)
        join resources.idempotency_keys as k using (workspace_id, environment, key)`,
    values: [
      keys.map(({ workspaceId }) => workspaceId),
      keys.map(({ environment }) => environment),
      keys.map(({ key }) => key),
    ],
  });
  return rows;
}

/** Deletes expired records. Returns the number of deleted records. */
export function deleteExpired(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'resources.idempotency_keys', { where: 'expires_at <= resources.agreed_now()' }, signal);
}
