import { maxRollOverlapSeconds } from '@rms/base/api-key';
import { RmsError } from '@rms/base/errors';
import { toTenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { type KeysService, RollKeyResponseSchema } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { lockToChange } from '../key/granting-key.ts';
import { makeKey, type StoredKey, verdictFor } from '../key/key.ts';
import { keyCreated, keyRolled } from '../key/key-audit.ts';
import { queueKeyEvents } from '../key/key-event.ts';
import { checkKeyLimit, countNewKey } from '../key/key-limit.ts';
import { toKeyMessage, withCreatorName } from '../key/key-message.ts';
import { columns, insertKey, type KeyRow, toKey } from '../key/key-queries.ts';
import { insertPendingMarkers, type KeyMarker, readPendingMarkersOf } from '../key/marker-queries.ts';
import { markerOf, refOf } from '../key/revoke.ts';
import { found, invalid } from '../refusals.ts';
import { lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Replaces a key with a new one. Responds once every gateway knows when the old key ends, also to a repeated request
 * whose first one is still waiting for this, or was interrupted. During an overlap, both keys
 * count toward the key limit of the workspace.
 */
export function rollKey({
  pool,
  time,
  idempotency,
  throttle,
  markers,
  maxKeys,
  operational,
  log,
}: HandlerParts): Handlers<typeof KeysService>['rollKey'] {
  return async (request, context) => {
    const { workspaceId, id, overlap, idempotencyKey } = request;
    const overlapSeconds = overlap ? Number(overlap.seconds) + overlap.nanos / 1e9 : 0;
    if (overlapSeconds < 0 || overlapSeconds > maxRollOverlapSeconds) {
      throw invalid('overlap', `must be 0 to ${maxRollOverlapSeconds / 86_400} days`);
    }
    const actor = actorOf(context);
    const idempotent = {
      tenant: () => toTenant(request),
      operation: 'roll key',
      key: idempotencyKey,
      content: [id, overlapSeconds],
    };
    let marker: KeyMarker | undefined;
    const { response, replayed } = await idempotency.once(idempotent, RollKeyResponseSchema, async (tx) => {
      // Without an overlap, the number of valid keys does not grow.
      if (overlapSeconds > 0) await checkKeyLimit(tx, workspaceId, maxKeys);
      else found(await lockWorkspaceLimits(tx, workspaceId), 'workspace', workspaceId);
      await countNewKey(tx, throttle, workspaceId, context);
      const now = new Date(time.nowMs());
      const old = await lockToChange(tx, context, refOf(request), now);
      if (old.rolledAt || verdictFor(old, old.environment, now) !== 'valid') {
        throw new RmsError('conflict', {
          message: 'Only a valid key can be rolled; this one is revoked, rolled or expired. Create a new key.',
        });
      }
      const made = makeKey({ ...old, createdBy: actor });
      await insertKey(tx, made.key);
      const rolled = await setRolled(tx, old, overlapSeconds, made.key.id);
      marker = markerOf(rolled);
      await insertPendingMarkers(tx, [marker]);
      await appendAudit(tx, context, [keyRolled(old, rolled), keyCreated(made.key)]);
      await queueKeyEvents(tx, 'api_key.rolled', [rolled], context);
      await queueKeyEvents(tx, 'api_key.created', [made.key], context);
      return { key: toKeyMessage(made.key), keyValue: made.value, oldKey: toKeyMessage(rolled), createdBy: actor };
    });
    const { key, oldKey, keyValue, createdBy } = response;
    operational.wake();
    await markers.hold(marker ? [marker] : await readPendingMarkersOf(pool, workspaceId, id));
    if (marker) {
      const fields = { workspace_id: workspaceId, key_id: id, new_key_id: key?.id, overlap_seconds: overlapSeconds };
      log.info(fields, 'key rolled');
    }
    // The value is shown once. Another API key must not obtain it by repeating an Idempotency-Key.
    return { key: await withCreatorName(pool, key), oldKey, keyValue: createdBy === actor ? keyValue : '', replayed };
  };
}

/** Records a key's replacement, and the overlap's end, when the old key expires. */
async function setRolled(
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
