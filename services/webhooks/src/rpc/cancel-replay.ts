import { toScope } from '@rms/base/tenant';
import { type AuditedFields, appendAudit, changesBetween } from '@rms/postgres/audit';
import { CancelReplayResponseSchema, type DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Replay } from '../delivery/replay.ts';
import { toReplayMessage } from '../delivery/replay-message.ts';
import { cancelReplay as endReplay, lockReplay } from '../delivery/replay-queries.ts';
import { nameOf } from '../webhook/webhook-audit.ts';
import { findWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';

const fields: AuditedFields<Pick<Replay, 'status'>> = { status: 'shown' };

/** Cancels a replay. The audit entry names its webhook. */
export function cancelReplay({ idempotency }: HandlerParts): Handlers<typeof DeliveriesService>['cancelReplay'] {
  return async (request, context) => {
    const { id } = request;
    const scope = toScope(request);
    const once = idempotentRequest('cancel replay', request);
    const { response, replayed } = await idempotency.once(once, CancelReplayResponseSchema, async (tx) => {
      const before = found(await lockReplay(tx, scope, id), 'replay', id);
      const replay = found(await endReplay(tx, scope, id), 'replay', id);
      const { workspaceId, environment, webhookId, replayed } = replay;
      const webhook = await findWebhook(tx, scope, webhookId);
      await appendAudit(tx, context, [
        {
          ...{ workspaceId, environment, action: 'replay.canceled', changes: changesBetween(fields, before, replay) },
          target: { id, name: webhook ? nameOf(webhook) : '' },
          details: { webhook_id: webhookId, replayed },
        },
      ]);
      return { replay: toReplayMessage(replay) };
    });
    return { ...response, replayed };
  };
}
