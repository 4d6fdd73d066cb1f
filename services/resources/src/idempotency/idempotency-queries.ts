import type { Queryable } from '@rms/db';
import type { Tenant } from '../resource/resource.ts';

export interface StoredAnswer extends Tenant {
  readonly key: string;
  readonly fingerprint: Buffer;
  /** rms.resources.v1.Resource */
  readonly answer: Buffer;
}

/** The answers that stand under these keys, in any order. */
export async function readAnswers(db: Queryable, keys: readonly (Tenant & { key: string })[]): Promise<StoredAnswer[]> {
  const { rows } = await db.query<StoredAnswer>({
    name: 'idempotency-read',
    text: `
      select k.workspace_id as "workspaceId", k.environment, k.key, k.fingerprint, k.answer
        from unnest($1::text[], $2::text[], $3::text[]) as asked (workspace_id, environment, key)
        join resources.idempotency_keys as k using (workspace_id, environment, key)`,
    values: [
      keys.map(({ workspaceId }) => workspaceId),
      keys.map(({ environment }) => environment),
      keys.map(({ key }) => key),
    ],
  });
  return rows;
}

/** Removes up to `limit` answers whose 24 hours are over; answers with how many it found. */
export async function deleteExpired(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from resources.idempotency_keys
      where (workspace_id, environment, key) in (
              select workspace_id, environment, key from resources.idempotency_keys
               where expires_at <= now() order by expires_at limit $1 for update skip locked)`,
    [limit],
  );
  return rowCount ?? 0;
}
