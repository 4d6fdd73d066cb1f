import type { KeyEnvironment } from '@rms/api-key';
import type { Queryable } from '@rms/db';
import type { PlanLimits } from '../plan/plan.ts';
import { optionalNumber, type PlanColumns, toPlanLimits } from '../plan/plan-queries.ts';
import type { KeyScope, StoredKey } from './key.ts';

interface KeyRow {
  workspace_id: string;
  environment: KeyEnvironment;
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

/** Stores a new key. */
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

/** All keys of a workspace, newest first; both environments if none is given. */
export async function listKeysOf(
  db: Queryable,
  workspaceId: string,
  environments: KeyEnvironment[],
): Promise<StoredKey[]> {
  const { rows } = await db.query<KeyRow>(
    `select ${columns} from auth.keys where workspace_id = $1 and environment = any($2) order by id desc`,
    [workspaceId, environments],
  );
  return rows.map(toKey);
}

/** One key, locked until the transaction ends. */
export async function lockKey(tx: Queryable, workspaceId: string, id: string): Promise<StoredKey | undefined> {
  const { rows } = await tx.query<KeyRow>(
    `select ${columns} from auth.keys
      where workspace_id = $1 and environment in ('live', 'sandbox') and id = $2
        for update`,
    [workspaceId, id],
  );
  return rows[0] && toKey(rows[0]);
}

/** Several keys by their ids, locked until the transaction ends, in the order of the ids. */
export async function lockKeys(tx: Queryable, refs: readonly KeyRef[]): Promise<StoredKey[]> {
  const { rows } = await tx.query<KeyRow>(
    `select ${columns} from auth.keys
      where (workspace_id, id) in (select * from unnest($1::text[], $2::text[])) and environment in ('live', 'sandbox')
      order by id for update`,
    [refs.map(({ workspaceId }) => workspaceId), refs.map(({ id }) => id)],
  );
  return rows.map(toKey);
}

/** Which key of which workspace. */
export interface KeyRef {
  readonly workspaceId: string;
  readonly id: string;
}

/** A key that was looked up, with what else its verdict needs. */
export interface FoundKey {
  readonly key: StoredKey;
  /** The database's time, which sets the ends of overlaps as well: clocks of replicas that differ prolong no key's life. */
  readonly now: Date;
  readonly plan: PlanLimits;
  readonly workspaceName: string;
}

/** Looks keys up by hash, in one statement; those that do not exist are not in the answer. */
export async function findKeysByHash(db: Queryable, hashes: readonly Uint8Array[]): Promise<FoundKey[]> {
  const { rows } = await db.query<KeyRow & PlanColumns & { now: Date; workspace_name: string }>({
    name: 'keys-by-hash',
    text: `
      select key.*, now(), workspaces.name as workspace_name, plans.rate_limit_requests as plan_rate_limit_requests,
             plans.rate_limit_window_seconds as plan_rate_limit_window_seconds,
             plans.monthly_quota as plan_monthly_quota
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

/** Marks keys as revoked, and so as changed; one that is revoked already keeps its time. */
export async function setRevoked(tx: Queryable, keys: readonly StoredKey[]): Promise<StoredKey[]> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set revoked_at = coalesce(revoked_at, now()), version = version + 1
      where (workspace_id, environment, id) in (select * from unnest($1::text[], $2::text[], $3::text[]))
      returning ${columns}`,
    [keys.map((key) => key.workspaceId), keys.map((key) => key.environment), keys.map((key) => key.id)],
  );
  return rows.map(toKey);
}

/** Notes which key takes another's place, and that the old one is expired after the overlap. */
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

/** Writes what an operator may change of a key. */
export async function updateKey(tx: Queryable, key: StoredKey): Promise<StoredKey> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set name = $4, allowed_ips = $5, rate_limit_requests = $6, version = version + 1
      where workspace_id = $1 and environment = $2 and id = $3
      returning ${columns}`,
    [key.workspaceId, key.environment, key.id, key.name, key.allowedIps, key.rateLimitRequests],
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
