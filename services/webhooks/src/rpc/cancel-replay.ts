import { appendAudit } from '@rms/audit';
import { CancelReplayResponseSchema, type DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toScope } from '@rms/tenant';
import { toReplayMessage } from '../replay/replay-message.ts';
import { cancelReplay as endReplay } from '../replay/replay-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';

export function cancelReplay({ idempotency }: HandlerParts): Handlers<typeof DeliveriesService>['cancelReplay'] {
  return async (request, context) => {
    const { id } = request;
    const scope = toScope(request);
    const once = idempotentRequest('cancel replay', request);
    const { response, replayed } = await idempotency.once(once, CancelReplayResponseSchema, async (tx) => {
      const replay = found(await endReplay(tx, scope, id), 'replay', id);
      const { workspaceId, environment, webhookId } = replay;
      const details = { webhook_id: webhookId, replayed: replay.replayed };
      await appendAudit(tx, context, [{ workspaceId, environment, action: 'replay.cancelled', targetId: id, details }]);
      return { replay: toReplayMessage(replay) };
    });
    return { ...response, replayed };
  };
}
