import { timestampDate } from '@bufbuild/protobuf/wkt';
import { checkVersion, RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { KeysService, UpdateKeyRequest } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { lockToChange } from '../key/granting-key.ts';
import { checkKeyInput, type KeyInput, type StoredKey, verdictFor } from '../key/key.ts';
import { keyUpdated } from '../key/key-audit.ts';
import { toKeyMessages } from '../key/key-message.ts';
import { columns, type KeyRow, toKey } from '../key/key-queries.ts';
import { insertPendingMarkers } from '../key/marker-queries.ts';
import { markerOf, refOf } from '../key/revoke.ts';
import { optional } from '../plan/plan-message.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Changes the fields that are set. Responds once the change, such as a narrower allowlist, is effective at every
 * gateway.
 */
export function updateKey({ pool, time, markers, log }: HandlerParts): Handlers<typeof KeysService>['updateKey'] {
  return async (request, context) => {
    const { workspaceId, id, expectedVersions } = request;
    const updated = await inTransaction(pool, async (tx) => {
      const key = await lockToChange(tx, context, refOf(request), new Date(time.nowMs()));
      checkVersion(key.version, expectedVersions);
      const updated = await writeKey(tx, { ...key, ...changed(key, request) });
      await insertPendingMarkers(tx, [markerOf(updated)]);
      await appendAudit(tx, context, [keyUpdated(key, updated)]);
      return updated;
    });
    await markers.hold([markerOf(updated)]);
    log.info({ workspace_id: workspaceId, key_id: id }, 'key updated');
    const [key] = await toKeyMessages(pool, [updated]);
    return { key };
  };
}

function changed(key: StoredKey, { name, allowedIps, rateLimit, expiry: given }: UpdateKeyRequest): KeyInput {
  const now = new Date();
  const expiresAt = given?.time && timestampDate(given.time);
  // A client may send back the time that it has read, also of a key that is no longer valid.
  const expiry = given && expiresAt?.getTime() !== key.expiresAt?.getTime() ? given : undefined;
  // A key that is valid again would exceed the limit of valid keys.
  if (expiry && verdictFor(key, key.environment, now) !== 'valid')
    throw new RmsError('conflict', { message: 'The key is no longer valid. Create another one.' });
  const input = checkKeyInput(
    {
      name: name ?? key.name,
      allowedIps: allowedIps?.cidrs ?? key.allowedIps,
      rateLimitRequests: rateLimit ? optional(rateLimit.requests) : key.rateLimitRequests,
      expiresAt: expiry && expiresAt,
    },
    now,
  );
  return expiry ? input : { ...input, expiresAt: key.expiresAt };
}

/** Stores the changeable settings of a key: name, allowlist, rate limit and expiry. */
async function writeKey(tx: Queryable, key: StoredKey): Promise<StoredKey> {
  const { rows } = await tx.query<KeyRow>(
    `update auth.keys set name = $4, allowed_ips = $5, rate_limit_requests = $6, expires_at = $7, version = version + 1
      where workspace_id = $1 and environment = $2 and id = $3
      returning ${columns}`,
    [key.workspaceId, key.environment, key.id, key.name, key.allowedIps, key.rateLimitRequests, key.expiresAt],
  );
  return toKey(rows[0] as KeyRow);
}
