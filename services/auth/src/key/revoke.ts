import { type AuditOrigin, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { HandlerParts } from '../rpc/handler.ts';
import type { StoredKey } from './key.ts';
import { keyRevoked } from './key-audit.ts';
import { type KeyRef, lockKeys, setRevoked } from './key-queries.ts';
import { insertPendingMarks, type KeyMark } from './mark-queries.ts';

/**
 * Revokes keys, and resolves once no gateway lets them in any more (invariant 3). Asked again, it makes sure again.
 * Answers with those that exist.
 */
export async function revokeKeys(
  { pool, marks, log }: HandlerParts,
  refs: readonly KeyRef[],
  origin: AuditOrigin,
): Promise<StoredKey[]> {
  const revoked = await inTransaction(pool, async (tx) => {
    const before = await lockKeys(tx, refs);
    const after = await setRevoked(tx, before);
    await insertPendingMarks(tx, after.map(markOf));
    await appendAudit(tx, origin, before.filter(({ revokedAt }) => !revokedAt).map(keyRevoked));
    return after;
  });
  await marks.hold(revoked.map(markOf));
  for (const { workspaceId, environment, id } of revoked) {
    log.info({ workspace_id: workspaceId, environment, key_id: id }, 'key revoked');
  }
  return revoked;
}

/** The mark of a key's present version. */
export function markOf({ workspaceId, environment, id, version }: StoredKey): KeyMark {
  return { workspaceId, environment, keyId: id, version };
}
