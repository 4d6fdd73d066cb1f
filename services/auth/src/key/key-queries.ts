import type { Environment, TenantScope } from '@rms/base/tenant';
import type { PageStart, Queryable } from '@rms/postgres/db';
import type { PlanLimits } from '../plan/plan.ts';
import { optionalNumber, type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
import type { KeyScope, KeyStatus, StoredKey } from './key.ts';

interface KeyRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  hash: Buffer;
  hint: string;
  name: string;
  scope: KeyScope;
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

const columns = `workspace_id, environment, id, hash, hint, name, scope, allowed_ips, created_at, expires_at, revoked_at,
  rolled_at, replaced_by_id, created_by, version, rate_limit_requests`;

/** Condition of a valid key; see `verdictFor`. The index keys_by_end finds the valid keys of a workspace. */
const isValid = "revoked_at is null and coalesce(least(expires_at, rolled_at), 'infinity') > now()";

export async function insertKey(db: Queryable, key: StoredKey): Promise<void> {
  await db.query(
    `insert into auth.keys (workspace_id, environment, id, hash, hint, name, scope, allowed_ips, created_at, expires_at,
                            created_by, rate_limit_requests)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      key.workspaceId,
      key.environment,
      key.id,
      key.hash,
      key.hint,
      key.name,
      key.scope,
      key.allowedIps,
      key.createdAt,
      key.expiresAt,
      key.createdBy,
      key.rateLimitRequests,
    ],
  );
}

/**
 * Returns the creator of a key: of a key that was created with another key, the creator of that key. Empty: unknown.
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
const hasStatus: Readonly<Record<KeyStatus, string>> = {
  active: `rolled_at is null and ${isValid}`,
  expired: 'revoked_at is null and rolled_at is null and expires_at <= now()',
  revoked: 'revoked_at is not null',
  rolled: 'revoked_at is null and rolled_at is not null',
};

/** Maximum number of keys that a filtered list reads. A workspace can have any number of keys that are no longer valid. */
const maxKeysRead = 10_000;

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

/**
 * Returns up to `limit` keys of a workspace after or before `start`, newest first. Reads one index range per
 * environment. With a filter, it reads at most {@link maxKeysRead} keys; if it stops there, `lastRead` is the ID of the
 * last key that it read.
 */
export async function listKeysOf(db: Queryable, page: KeyPage): Promise<{ keys: StoredKey[]; lastRead?: string }> {
  const { workspaceId, environments, start, limit } = page;
  const backwards = start?.direction === 'before';
  const order = backwards ? 'asc' : 'desc';
  const inOrder = (selected: string, most: string) => `
    select key.*
      from unnest($2::text[]) as requested (name)
           cross join lateral (
             select ${selected} from auth.keys
              where workspace_id = $1 and environment = requested.name and id ${backwards ? '>' : '<'} $3
              order by id ${order} limit ${most}
           ) as key
     order by id ${order}`;
  // "~" sorts after every ID.
  const values: unknown[] = [workspaceId, environments, start?.keys[0] ?? '~'];
  const listed = (rows: KeyRow[]) => (backwards ? rows.map(toKey).reverse() : rows.map(toKey));
  const { status, namePart, createdBy } = page;
  const filters = [
    ...(page.validOnly ? [isValid] : []),
    ...(page.ownLimitOnly ? ['rate_limit_requests is not null'] : []),
    ...(status ? [hasStatus[status]] : []),
    ...(namePart === '' ? [] : ['strpos(lower(name), lower($5)) > 0']),
    ...(createdBy === '' ? [] : [`created_by = $${namePart === '' ? 5 : 6}`]),
  ];
  if (filters.length === 0) {
    const { rows } = await db.query<KeyRow>(`${inOrder(columns, '$4')} limit $4`, [...values, limit]);
    return { keys: listed(rows) };
  }
  // As a subquery, the limit is unknown to the planner, which then reads the index in order instead of sorting.
  const most = `(select ${maxKeysRead})`;
  const { rows } = await db.query<KeyRow>(
    `select * from (${inOrder(columns, most)} limit ${most}) as read
      where ${filters.join(' and ')}
      order by id ${order} limit $4`,
    [...values, limit, ...[namePart, createdBy].filter((one) => one !== '')],
  );
  if (rows.length === limit) return { keys: listed(rows) };
  const last = await db.query<{ id: string }>(
    `${inOrder('id', most)} offset (select ${maxKeysRead - 1}) limit 1`,
    values,
  );
  const [end] = last.rows;
  return { keys: listed(rows), ...(end ? { lastRead: end.id } : {}) };
}

/** Returns a key if it belongs to one of these environments. */
export async function findKey(
  db: Queryable,
  workspaceId: string,
  id: string,
  environments: readonly Environment[],
): Promise<StoredKey | undefined> {
  const { rows } = await db.query<KeyRow>(
    `select ${columns} from auth.keys where workspace_id = $1 and environment = any($2) and id = $3`,
    [workspaceId, environments, id],
  );
  return rows[0] && toKey(rows[0]);
}

/** Returns one key, locked until the transaction ends. */
export async function lockKey(tx: Queryable, ref: KeyRef): Promise<StoredKey | undefined> {
  return (await lockKeys(tx, [ref]))[0];
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
export interface FoundKey {
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

/** Records the replacement of a key, and the end of the overlap, after which the old key is expired. */
export async function setRolled(
  tx: Queryable,
  key: StoredKey,
  overlapSeconds: number,
  replacedById: string,
): Promise<StoredKey> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set rolled_at = now() + $4 * interval '1 second', replaced_by_id = $5, version = version + 1
      where workspace_id = $1 and environment = $2 and id = $3
      returning ${columns}`,
    [key.workspaceId, key.environment, key.id, overlapSeconds, replacedById],
  );
  return toKey(rows[0] as KeyRow);
}

/** Stores the changeable settings of a key: name, allowlist, rate limit and expiry. */
export async function updateKey(tx: Queryable, key: StoredKey): Promise<StoredKey> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set name = $4, allowed_ips = $5, rate_limit_requests = $6, expires_at = $7, version = version + 1
      where workspace_id = $1 and environment = $2 and id = $3
      returning ${columns}`,
    [key.workspaceId, key.environment, key.id, key.name, key.allowedIps, key.rateLimitRequests, key.expiresAt],
  );
  return toKey(rows[0] as KeyRow);
}

function toKey(row: KeyRow): StoredKey {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    hash: row.hash,
    hint: row.hint,
    name: row.name,
    scope: row.scope,
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
