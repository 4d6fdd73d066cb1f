import type { Environment, Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { KeyRef } from './key-queries.ts';

/** A key's client: one combination of address and user agent. */
export interface KeyUse {
  readonly address: string;
  readonly userAgent: string;
  readonly lastUsedAt: Date;
  /** Total number of requests. */
  readonly requests: number;
}

/** A gateway's report about one client. `requests` counts the requests since its previous report. */
export interface ReportedUse extends KeyUse, Tenant {
  readonly keyId: string;
}

/** Number of most recent clients stored per key. */
export const usesKept = 50;

/**
 * Adds reported uses to the stored uses. Replaces times in the future with the current time, because the clock of a
 * gateway may be wrong. Ignores uses of unknown keys. One call must not contain two reports about the same client of a
 * key. Returns the keys that have new clients.
 */
export async function addUses(db: Queryable, uses: readonly ReportedUse[]): Promise<UsedKey[]> {
  const { rows } = await db.query<{ workspace_id: string; environment: Environment; key_id: string }>({
    name: 'add-key-uses',
    text: `
      with added as (
      insert into auth.key_uses as known
             (workspace_id, environment, key_id, address, user_agent, last_used_at, requests)
      select workspace_id, environment, keys.id, address, user_agent, least(used_at, now()), requests
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::bigint[])
             as used (workspace_id, environment, key_id, address, user_agent, used_at, requests)
        join auth.keys using (workspace_id, environment)
       where keys.id = used.key_id
       order by 1, 2, 3, 4, 5
          on conflict (workspace_id, environment, key_id, address, user_agent) do update
         set last_used_at = greatest(least(known.last_used_at, now()), excluded.last_used_at),
             requests = known.requests + excluded.requests
      -- A row that was updated has the xmax of this transaction.
      returning workspace_id, environment, key_id, xmax = 0 as is_new
      )
      select distinct workspace_id, environment, key_id from added where is_new`,
    values: [
      uses.map(({ workspaceId }) => workspaceId),
      uses.map(({ environment }) => environment),
      uses.map(({ keyId }) => keyId),
      uses.map(({ address }) => address),
      uses.map(({ userAgent }) => userAgent),
      uses.map(({ lastUsedAt }) => lastUsedAt),
      uses.map(({ requests }) => requests),
    ],
  });
  return rows.map(({ workspace_id: workspaceId, environment, key_id: keyId }) => ({ workspaceId, environment, keyId }));
}

/** Returns the most recent clients of these keys by key ID, latest first. */
export async function readUses(
  db: Queryable,
  keys: readonly Pick<KeyRef, 'workspaceId' | 'id'>[],
): Promise<Map<string, KeyUse[]>> {
  const { rows } = await db.query<{
    key_id: string;
    address: string;
    user_agent: string;
    last_used_at: Date;
    requests: string;
  }>(
    `select key_id, address, user_agent, last_used_at, requests
       from (
              select *, row_number() over (partition by workspace_id, environment, key_id order by last_used_at desc) as rank
                from auth.key_uses
               where (workspace_id, key_id) in (select * from unnest($1::text[], $2::text[]))
                 and environment in ('live', 'sandbox')
            ) as latest
      where rank <= $3
      order by key_id, rank`,
    [keys.map(({ workspaceId }) => workspaceId), keys.map(({ id }) => id), usesKept],
  );
  const uses = new Map<string, KeyUse[]>();
  for (const row of rows) {
    const { address, user_agent: userAgent, last_used_at: lastUsedAt } = row;
    const use = { address, userAgent, lastUsedAt, requests: Number(row.requests) };
    const known = uses.get(row.key_id);
    if (known) known.push(use);
    else uses.set(row.key_id, [use]);
  }
  return uses;
}

/** Primary key of an API key. */
export type UsedKey = Pick<ReportedUse, 'workspaceId' | 'environment' | 'keyId'>;

/** Returns a page of all keys in the order of their primary key. */
export async function listUsedKeys(db: Queryable, after: UsedKey | undefined, limit: number): Promise<UsedKey[]> {
  const { rows } = await db.query<{ workspace_id: string; environment: Environment; id: string }>(
    `select workspace_id, environment, id from auth.keys
      where (workspace_id, environment, id) > ($1, $2, $3) order by workspace_id, environment, id limit $4`,
    [after?.workspaceId ?? '', after?.environment ?? '', after?.keyId ?? '', limit],
  );
  return rows.map(({ workspace_id: workspaceId, environment, id: keyId }) => ({ workspaceId, environment, keyId }));
}

/**
 * Deletes up to `limit` clients of these keys, except the `usesKept` most recent clients of each key. Sorts the rows
 * once. Skips rows that a concurrent report has locked, so that the two never deadlock.
 */
export async function deleteSurplusUses(db: Queryable, keys: readonly UsedKey[], limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `with ranked as (
       select use.ctid as row_id,
              row_number() over (partition by workspace_id, environment, key_id order by last_used_at desc) as rank
         from auth.key_uses as use
         join unnest($1::text[], $2::text[], $3::text[]) as requested (workspace_id, environment, key_id)
        using (workspace_id, environment, key_id)
     )
     delete from auth.key_uses where ctid = any(array(
       select ctid from auth.key_uses
        where ctid = any(array(select row_id from ranked where rank > $4 limit $5))
          for update skip locked))`,
    [
      keys.map(({ workspaceId }) => workspaceId),
      keys.map(({ environment }) => environment),
      keys.map(({ keyId }) => keyId),
      usesKept,
      limit,
    ],
  );
  return rowCount ?? 0;
}
