import type { KeyPermission, KeyScope } from '@rms/base/roles';
import type { Environment, TenantScope } from '@rms/base/tenant';
import type { PageStart, Queryable } from '@rms/postgres/db';
import type { PlanLimits } from '../plan/plan.ts';
import { optionalNumber, type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
import type { KeyStatus, StoredKey } from './key.ts';

export interface KeyRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  hash: Buffer;
  hint: string;
  name: string;
  scope: KeyScope;
  permissions: KeyPermission[];
  allowed_ips: string[];
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  rolled_at: Date | null;
  replaced_by_id: string | null;
  created_by: string;
  version: string;
  rate_limit_requests: string | null;
}

export const columns = `workspace_id, environment, id, hash, hint, name, scope, permissions, allowed_ips, created_at,
  expires_at, revoked_at, rolled_at, replaced_by_id, created_by, version, rate_limit_requests`;

/** Condition of a valid key; see `verdictFor`. The index keys_by_end finds the valid keys of a workspace. */
export const isValid = "revoked_at is null and coalesce(least(expires_at, rolled_at), 'infinity') > now()";

export async function insertKey(db: Queryable, key: StoredKey): Promise<void> {
  await db.query(
    `insert into auth.keys (workspace_id, environment, id, hash, hint, name, scope, permissions, allowed_ips,
                            created_at, expires_at, created_by, rate_limit_requests)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      key.workspaceId,
      key.environment,
      key.id,
      key.hash,
      key.hint,
      key.name,
      key.scope,
      key.permissions,
      key.allowedIps,
      key.createdAt,
      key.expiresAt,
      key.createdBy,
      key.rateLimitRequests,
    ],
  );
}

/**
 * Returns a key's creator: of a key that was created with another key, the creator of that key. Empty: unknown.
 */
export async function creatorOfKey(db: Queryable, { workspaceId, environments, id }: KeyRef): Promise<string> {
  const { rows } = await db.query<{ created_by: string }>(
    `with recursive creators as (
       select created_by from auth.keys where workspace_id = $1 and environment = any($2) and id = $3
        union
       select keys.created_by
         from creators
         join auth.keys on workspace_id = $1 and environment = any($2) and id = substr(creators.created_by, 5)
        where creators.created_by like 'key:%'
     )
     select created_by from creators where created_by not like 'key:%'`,
    [workspaceId, environments, id],
  );
  return rows[0]?.created_by ?? '';
}

/** Returns the number of valid keys of a workspace, counted up to `most`. */
export async function countValidKeys(tx: Queryable, workspaceId: string, most: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count
       from (
              select from auth.keys
               where workspace_id = $1 and ${isValid} limit $2
            ) as valid`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}

/** Condition of each status; see KeyStatus in keys_service.proto. */
export const hasStatus: Readonly<Record<KeyStatus, string>> = {
  active: `rolled_at is null and ${isValid}`,
  expired: 'revoked_at is null and expires_at <= now()',
  revoked: 'revoked_at is not null',
  rolled: 'revoked_at is null and rolled_at is not null and coalesce(expires_at > now(), true)',
};

/** Maximum number of keys that a filtered list reads. A workspace can have any number of keys that are no longer valid. */
export const maxKeysRead = 10_000;

/** A page to read. Keys must meet every condition. */
export interface KeyPage {
  readonly workspaceId: string;
  readonly environments: readonly Environment[];
  readonly start: PageStart | undefined;
  readonly validOnly: boolean;
  readonly ownLimitOnly: boolean;
  readonly status: KeyStatus | undefined;
  /** Part of the name, in any case; empty: any. */
  readonly namePart: string;
  /** Empty: any. */
  readonly createdBy: string;
  readonly limit: number;
}

/** Returns a key if it belongs to one of these environments. */
export async function findKey(
  db: Queryable,
  { workspaceId, environments, id }: KeyRef,
): Promise<StoredKey | undefined> {
  const { rows } = await db.query<KeyRow>(
    `select ${columns} from auth.keys where workspace_id = $1 and environment = any($2) and id = $3`,
    [workspaceId, environments, id],
  );
  return rows[0] && toKey(rows[0]);
}

/** Returns several keys, locked in ID order until the transaction ends. */
export async function lockKeys(tx: Queryable, refs: readonly KeyRef[]): Promise<StoredKey[]> {
  const places = refs.flatMap(({ workspaceId, environments, id }) =>
    environments.map((environment) => ({ workspaceId, environment, id })),
  );
  const { rows } = await tx.query<KeyRow>(
    `select ${columns} from auth.keys
      where (workspace_id, environment, id) in (select * from unnest($1::text[], $2::text[], $3::text[]))
      order by id for update`,
    [
      places.map(({ workspaceId }) => workspaceId),
      places.map(({ environment }) => environment),
      places.map(({ id }) => id),
    ],
  );
  return rows.map(toKey);
}

/** Returns up to `limit` keys of a workspace that are not revoked, locked in ID order until the transaction ends. */
export async function lockUnrevoked(tx: Queryable, workspaceId: string, limit: number): Promise<StoredKey[]> {
  const { rows } = await tx.query<KeyRow>(
    `select ${columns} from auth.keys where workspace_id = $1 and revoked_at is null order by id limit $2 for update`,
    [workspaceId, limit],
  );
  return rows.map(toKey);
}

/** Returns the valid keys of workspaces that `createdBy` created, locked in ID order until the transaction ends. */
export async function lockValidBy(
  tx: Queryable,
  workspaceIds: readonly string[],
  createdBy: string,
): Promise<StoredKey[]> {
  const { rows } = await tx.query<KeyRow>(
    `select ${columns} from auth.keys
      where workspace_id = any($1) and created_by = $2 and ${isValid} order by id for update`,
    [workspaceIds, createdBy],
  );
  return rows.map(toKey);
}

/** Reference to a key. */
export interface KeyRef extends TenantScope {
  readonly id: string;
}

/** A key found by its hash, with the data for its verdict. */
interface FoundKey {
  readonly key: StoredKey;
  /**
   * Database time. It also sets the end of overlaps, so clock differences between replicas never prolong a key's life.
   */
  readonly now: Date;
  readonly plan: PlanLimits;
  readonly workspaceName: string;
}

/** Finds keys by hash, in one statement. Unknown hashes are absent from the result. */
export async function findKeysByHash(db: Queryable, hashes: readonly Uint8Array[]): Promise<FoundKey[]> {
  const { rows } = await db.query<KeyRow & PlanColumns & { now: Date; workspace_name: string }>({
    name: 'keys-by-hash',
    text: `
      select key.*, now(), workspaces.name as workspace_name, ${planColumns}
        from (select ${columns} from auth.keys where hash = any($1::bytea[])) as key
        join auth.workspaces on workspaces.id = key.workspace_id
        left join auth.plans on plans.name = workspaces.plan`,
    values: [hashes],
  });
  return rows.map((row) => ({
    key: toKey(row),
    now: row.now,
    workspaceName: row.workspace_name,
    plan: toPlanLimits(row),
  }));
}

/** Revokes keys and increments their versions. A key that is already revoked keeps its revocation time. */
export async function setRevoked(tx: Queryable, keys: readonly StoredKey[]): Promise<StoredKey[]> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set revoked_at = coalesce(revoked_at, now()), version = version + 1
      where (workspace_id, environment, id) in (select * from unnest($1::text[], $2::text[], $3::text[]))
      returning ${columns}`,
    [keys.map((key) => key.workspaceId), keys.map((key) => key.environment), keys.map((key) => key.id)],
  );
  return rows.map(toKey);
}

export function toKey(row: KeyRow): StoredKey {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    hash: row.hash,
    hint: row.hint,
    name: row.name,
    scope: row.scope,
    permissions: row.permissions,
    allowedIps: row.allowed_ips,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    rolledAt: row.rolled_at ?? undefined,
    replacedById: row.replaced_by_id ?? undefined,
    createdBy: row.created_by,
    version: Number(row.version),
    rateLimitRequests: optionalNumber(row.rate_limit_requests),
  };
}
