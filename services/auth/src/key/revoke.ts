import { toEnvironments } from '@rms/base/tenant';
import { type AuditOrigin, appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable, type Queue } from '@rms/postgres/db';
import type { RevokeKeyRequest } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { actorOfUser } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { StoredKey } from './key.ts';
import { keyRevoked } from './key-audit.ts';
import { queueKeyEvents } from './key-event.ts';
import { type KeyRef, lockKeys, lockUnrevoked, lockValidBy, setRevoked } from './key-queries.ts';
import { insertPendingMarkers, type KeyMarker, readPendingMarkersOf } from './marker-queries.ts';
import type { Markers } from './markers.ts';

const revokedPerBatch = 1_000;

interface RevokeParts {
  readonly pool: Pool;
  readonly markers: Pick<Markers, 'hold'>;
  /** The queue of operational events. */
  readonly operational: Pick<Queue, 'wake'>;
  readonly log: Logger;
}

/**
 * Revokes the keys that exist and returns them. Resolves once every gateway rejects them (invariant 3). A repeated call
 * for a revoked key waits for the same guarantee.
 * @param check throws if a key must not be revoked; then none is
 */
export async function revokeKeys(
  { pool, markers, operational, log }: RevokeParts,
  refs: readonly KeyRef[],
  origin: AuditOrigin,
  check: (key: StoredKey) => void = () => {},
): Promise<StoredKey[]> {
  const revoked = await inTransaction(pool, async (tx) => {
    const before = await lockKeys(tx, refs);
    before.forEach(check);
    return revokeLocked(tx, before, origin);
  });
  operational.wake();
  await holdRevoked({ markers, log }, revoked);
  return revoked;
}

/**
 * Revokes the valid keys that a user created in workspaces, in the caller's transaction, and returns them. The caller
 * must call {@link holdRevoked} after the commit.
 */
export async function revokeKeysBy(
  tx: Queryable,
  { userId, workspaceIds }: { readonly userId: string; readonly workspaceIds: readonly string[] },
  origin: AuditOrigin,
): Promise<StoredKey[]> {
  return revokeLocked(tx, await lockValidBy(tx, workspaceIds, actorOfUser(userId)), origin);
}

/** Resolves once every gateway rejects the revoked keys. */
export async function holdRevoked(
  { markers, log }: { readonly markers: Pick<Markers, 'hold'>; readonly log: Logger },
  revoked: readonly StoredKey[],
): Promise<void> {
  await markers.hold(revoked.map(markerOf));
  for (const { workspaceId, environment, id } of revoked) {
    log.info({ workspace_id: workspaceId, environment, key_id: id }, 'key revoked');
  }
}

async function revokeLocked(tx: Queryable, before: readonly StoredKey[], origin: AuditOrigin): Promise<StoredKey[]> {
  const after = await setRevoked(tx, before);
  await insertPendingMarkers(tx, after.map(markerOf));
  const revoked = newlyRevoked(before, after);
  await appendAudit(
    tx,
    origin,
    revoked.map(([key, now]) => keyRevoked(key, now)),
  );
  await queueKeyEvents(
    tx,
    'api_key.revoked',
    revoked.map(([, now]) => now),
    origin,
  );
  return after;
}

/**
 * Revokes all keys of a workspace. Resolves once every gateway rejects them, also the keys that an earlier call has
 * revoked.
 */
export async function revokeKeysOf(
  { pool, markers }: { readonly pool: Pool; readonly markers: Pick<Markers, 'hold'> },
  workspaceId: string,
): Promise<void> {
  let revoked: number;
  do {
    revoked = await inTransaction(pool, async (tx) => {
      const keys = await setRevoked(tx, await lockUnrevoked(tx, workspaceId, revokedPerBatch));
      await insertPendingMarkers(tx, keys.map(markerOf));
      return keys.length;
    });
  } while (revoked === revokedPerBatch);
  await markers.hold(await readPendingMarkersOf(pool, workspaceId));
}

/** Returns the keys that were not revoked before, before and after the change. */
function newlyRevoked(before: readonly StoredKey[], after: readonly StoredKey[]): [StoredKey, StoredKey][] {
  const nameOf = ({ workspaceId, environment, id }: StoredKey) => `${workspaceId}/${environment}/${id}`;
  const revoked = new Map(after.map((key) => [nameOf(key), key]));
  return before.flatMap((key) => {
    const now = key.revokedAt ? undefined : revoked.get(nameOf(key));
    return now ? [[key, now]] : [];
  });
}

/** Returns a request's reference. */
export function refOf({ workspaceId, environment, id }: Pick<RevokeKeyRequest, 'workspaceId' | 'environment' | 'id'>) {
  return { workspaceId, environments: toEnvironments(environment), id };
}

/** Returns the revocation marker of a key's current version. */
export function markerOf({ workspaceId, environment, id, version }: StoredKey): KeyMarker {
  return { workspaceId, environment, keyId: id, version };
}
