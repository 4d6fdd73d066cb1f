import { timestampDate } from '@bufbuild/protobuf/wkt';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { CreateKeyResponseSchema, type KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { checkGrant, grantingKey } from '../key/granting-key.ts';
import { checkKeyInput, makeKey } from '../key/key.ts';
import { keyCreated } from '../key/key-audit.ts';
import { queueKeyEvents } from '../key/key-event.ts';
import { checkKeyLimit, countNewKey } from '../key/key-limit.ts';
import { checkedGrantOf, toKeyMessage, withCreatorName } from '../key/key-message.ts';
import { insertKey, lockKeys } from '../key/key-queries.ts';
import { optional } from '../plan/plan-message.ts';
import type { HandlerParts } from './handler.ts';

export function createKey({
  pool,
  time,
  idempotency,
  throttle,
  maxKeys,
  operational,
  log,
}: HandlerParts): Handlers<typeof KeysService>['createKey'] {
  return async (request, context) => {
    const { workspaceId } = request;
    const now = new Date(time.nowMs());
    const input = checkKeyInput(
      {
        name: request.name,
        allowedIps: request.allowedIps,
        expiresAt: request.expireTime && timestampDate(request.expireTime),
        rateLimitRequests: optional(request.rateLimitRequests),
      },
      now,
    );
    const grant = checkedGrantOf(request);
    const environment = fromEnvironmentMessage(request.environment);
    const actor = actorOf(context);
    const idempotent = {
      tenant: () => ({ workspaceId, environment }),
      operation: 'create key',
      key: request.idempotencyKey,
      content: [grant, { ...input, allowedIps: [...input.allowedIps].sort() }],
    };
    const { response, replayed } = await idempotency.once(idempotent, CreateKeyResponseSchema, async (tx) => {
      const { key, value } = makeKey({ ...input, ...grant, workspaceId, environment, createdBy: actor });
      await checkKeyLimit(tx, workspaceId, maxKeys);
      await countNewKey(tx, throttle, workspaceId, context);
      await checkGrant(tx, context, await lockKeys(tx, grantingKey(context)), key, now);
      await insertKey(tx, key);
      await appendAudit(tx, context, [keyCreated(key)]);
      await queueKeyEvents(tx, 'api_key.created', [key], context);
      return { key: toKeyMessage(key), keyValue: value, createdBy: actor };
    });
    const { key, keyValue, createdBy } = response;
    operational.wake();
    if (!replayed) log.info({ workspace_id: workspaceId, environment, key_id: key?.id, ...grant }, 'key created');
    // The value is shown once. Another API key must not obtain it by repeating an Idempotency-Key.
    return { key: await withCreatorName(pool, key), keyValue: createdBy === actor ? keyValue : '', replayed };
  };
}
