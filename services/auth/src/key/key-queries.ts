import type { KeyEnvironment } from '@rms/api-key';
import type { Queryable } from '@rms/db';
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
}

const columns = `workspace_id, environment, id, hash, hint, name, scope, allowed_ips, created_at, expires_at, revoked_at,
  rolled_at, replaced_by_id`;

/** Stores a new key. */
export async function insertKey(db: Queryable, key: StoredKey): Promise<void> {
  await db.query(
    `insert into auth.keys (workspace_id, environment, id, hash, hint, name, scope, allowed_ips, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
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

/**
 * Looks keys up by hash, in one statement; those that do not exist are not in the answer. Each comes with the database's
 * time, which sets the ends of overlaps as well: clocks of auth's replicas that differ cannot prolong a key's life.
 */
export async function findKeysByHash(
  db: Queryable,
  hashes: readonly Uint8Array[],
): Promise<{ key: StoredKey; now: Date }[]> {
  const { rows } = await db.query<KeyRow & { now: Date }>({
    name: 'keys-by-hash',
    text: `select ${columns}, now() from auth.keys where hash = any($1::bytea[])`,
    values: [hashes],
  });
  return rows.map((row) => ({ key: toKey(row), now: row.now }));
}

/** Marks a key as revoked; one that is revoked already keeps its time. Undefined if there is no such key. */
export async function setRevoked(db: Queryable, workspaceId: string, id: string): Promise<StoredKey | undefined> {
  const { rows } = await db.query<KeyRow>(
    `update auth.keys set revoked_at = coalesce(revoked_at, now())
      where workspace_id = $1 and environment in ('live', 'sandbox') and id = $2
      returning ${columns}`,
    [workspaceId, id],
  );
  return rows[0] && toKey(rows[0]);
}

/** Notes which key takes another's place, and that the old one is expired after the overlap. */
export async function setRolled(
  tx: Queryable,
  key: StoredKey,
  overlapSeconds: number,
  replacedById: string,
): Promise<StoredKey> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set rolled_at = now() + $4 * interval '1 second', replaced_by_id = $5
      where workspace_id = $1 and environment = $2 and id = $3
      returning ${columns}`,
    [key.workspaceId, key.environment, key.id, overlapSeconds, replacedById],
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
  };
}
