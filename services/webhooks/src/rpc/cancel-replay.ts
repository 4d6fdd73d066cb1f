import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toReplayMessage } from '../replay/replay-message.ts';
import { cancelReplay as endReplay } from '../replay/replay-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { found, type HandlerParts, translated } from './parts.ts';

export function cancelReplay({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['cancelReplay'] {
  return (request, context) =>
    translated(() =>
      inTransaction(pool, async (tx) => {
        const { id } = request;
        const replay = found(await endReplay(tx, toScope(request), id), 'replay', id);
        const { workspaceId, environment, webhookId } = replay;
        const details = { webhook_id: webhookId, replayed: replay.replayed };
        await appendAudit(tx, context, [
          { workspaceId, environment, action: 'replay.cancelled', targetId: id, details },
        ]);
        return { replay: toReplayMessage(replay) };
      }),
    );
}
