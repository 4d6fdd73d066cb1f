import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { KeyRef } from './key-queries.ts';

/** The most recent request that was refused because of its key. */
export interface KeyRefusal {
  readonly refusedAt: Date;
  /** Public error code. */
  readonly errorCode: string;
}

export interface ReportedRefusal extends KeyRefusal, Tenant {
  readonly keyId: string;
}

/** Refusals are stored to the minute, so that a client that keeps trying causes few writes. */
const precision = "interval '1 minute'";

/**
 * Stores refusals of keys, at most one per key and call. Replaces times in the future with the current time, because the
 * clock of a gateway may be wrong. Ignores unknown keys, and keys with a refusal within the minute before.
 */
export async function addRefusals(db: Queryable, refusals: readonly ReportedRefusal[]): Promise<void> {
  await db.query({
    name: 'add-key-refusals',
    text: `
      insert into auth.key_refusals as known (workspace_id, environment, key_id, refused_at, error_code)
      select workspace_id, environment, key_id, least(refused.refused_at, now()), refused.error_code
        from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
             as refused (workspace_id, environment, key_id, refused_at, error_code)
        left join auth.key_refusals as earlier using (workspace_id, environment, key_id)
       where exists (select from auth.keys as k
                      where (k.workspace_id, k.environment, k.id) = (refused.workspace_id, refused.environment, refused.key_id))
         and (earlier.refused_at is null or earlier.refused_at < least(refused.refused_at, now()) - ${precision})
       order by 1, 2, 3
          on conflict (workspace_id, environment, key_id) do update
         set refused_at = excluded.refused_at, error_code = excluded.error_code
       where known.refused_at < excluded.refused_at`,
    values: [
      refusals.map(({ workspaceId }) => workspaceId),
      refusals.map(({ environment }) => environment),
      refusals.map(({ keyId }) => keyId),
      refusals.map(({ refusedAt }) => refusedAt),
      refusals.map(({ errorCode }) => errorCode),
    ],
  });
}

/** Returns the most recent refusals of these keys by key ID. */
export async function readRefusals(
  db: Queryable,
  keys: readonly Pick<KeyRef, 'workspaceId' | 'id'>[],
): Promise<Map<string, KeyRefusal>> {
  const { rows } = await db.query<{ key_id: string; refused_at: Date; error_code: string }>(
    `select key_id, refused_at, error_code from auth.key_refusals
      where (workspace_id, key_id) in (select * from unnest($1::text[], $2::text[]))
        and environment in ('live', 'sandbox')`,
    [keys.map(({ workspaceId }) => workspaceId), keys.map(({ id }) => id)],
  );
  return new Map(rows.map((row) => [row.key_id, { refusedAt: row.refused_at, errorCode: row.error_code }]));
}
