import type { KeyEnvironment } from '@rms/api-key';
import type { Queryable } from '@rms/db';
import type { KeyRef } from './key-queries.ts';

/** One client of a key. */
export interface KeyUse {
  readonly address: string;
  readonly userAgent: string;
  readonly lastUsedAt: Date;
  /** Ever. */
  readonly requests: number;
}

/** What a gateway reports of it: `requests` since its last report. */
export interface ReportedUse extends KeyUse {
  readonly workspaceId: string;
  readonly environment: KeyEnvironment;
  readonly keyId: string;
}

/** Clients that are kept of each key, the latest ones. */
export const usesKept = 50;

/**
 * Adds reports to what is known; what names no key of that workspace and environment is left out. Several reports of one
 * client in one call are not expected.
 */
export async function addUses(db: Queryable, uses: readonly ReportedUse[]): Promise<void> {
  await db.query({
    name: 'add-key-uses',
    text: `
      insert into auth.key_uses as known
             (workspace_id, environment, key_id, address, user_agent, last_used_at, requests)
      select workspace_id, environment, keys.id, address, user_agent, used_at, requests
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::bigint[])
             as used (workspace_id, environment, key_id, address, user_agent, used_at, requests)
        join auth.keys using (workspace_id, environment)
       where keys.id = used.key_id
       order by 1, 2, 3, 4, 5
          on conflict (workspace_id, environment, key_id, address, user_agent) do update
         set last_used_at = greatest(known.last_used_at, excluded.last_used_at),
             requests = known.requests + excluded.requests`,
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
}

/** The latest clients of these keys, the latest first, by the keys' ids. */
export async function readUses(db: Queryable, keys: readonly KeyRef[]): Promise<Map<string, KeyUse[]>> {
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

/** Forgets clients beyond those that are kept. */
export async function trimUses(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(
    `delete from auth.key_uses as use
      using (
              select workspace_id, environment, key_id from auth.key_uses
               group by workspace_id, environment, key_id having count(*) > $1
            ) as crowded
      where use.workspace_id = crowded.workspace_id and use.environment = crowded.environment
        and use.key_id = crowded.key_id
        and (use.address, use.user_agent) not in (
              select address, user_agent from auth.key_uses as kept
               where kept.workspace_id = crowded.workspace_id and kept.environment = crowded.environment
                 and kept.key_id = crowded.key_id
               order by last_used_at desc limit $1
            )`,
    [usesKept],
  );
  return rowCount ?? 0;
}
