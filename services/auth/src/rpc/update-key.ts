import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { KeysService, UpdateKeyRequest } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkKeyInput, type KeyInput, type StoredKey } from '../key/key.ts';
import { keyUpdated } from '../key/key-audit.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { lockKey, updateKey as writeKey } from '../key/key-queries.ts';
import { insertPendingMarks } from '../key/mark-queries.ts';
import { markOf } from '../key/revoke.ts';
import { optional } from '../plan/plan-message.ts';
import { found, type HandlerParts, translated } from './handler.ts';

/** Changes what is sent. A narrower allowlist holds at every gateway once this has answered. */
export function updateKey({ pool, marks, log }: HandlerParts): Handlers<typeof KeysService>['updateKey'] {
  return (request, context) =>
    translated(async () => {
      const { workspaceId, id } = request;
      const updated = await inTransaction(pool, async (tx) => {
        const key = found(await lockKey(tx, workspaceId, id), 'key', id);
        const updated = await writeKey(tx, { ...key, ...changed(key, request) });
        await insertPendingMarks(tx, [markOf(updated)]);
        await appendAudit(tx, context, [keyUpdated(updated)]);
        return updated;
      });
      await marks.hold([markOf(updated)]);
      log.info({ workspace_id: workspaceId, key_id: id }, 'key updated');
      return { key: toKeyMessage(updated) };
    });
}

function changed(key: StoredKey, { name, allowedIps, rateLimit }: UpdateKeyRequest): Omit<KeyInput, 'expiresAt'> {
  // The expiry date is not changed here, so that of an expired key is no mistake.
  const { expiresAt, ...input } = checkKeyInput(
    {
      name: name ?? key.name,
      allowedIps: allowedIps?.cidrs ?? key.allowedIps,
      rateLimitRequests: rateLimit ? optional(rateLimit.requests) : key.rateLimitRequests,
      expiresAt: undefined,
    },
    new Date(),
  );
  return input;
}
