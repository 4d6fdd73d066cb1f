import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toReplayMessage } from '../replay/replay-message.ts';
import { cancelReplay as endReplay } from '../replay/replay-queries.ts';
import { found, type HandlerParts, translated } from './parts.ts';

export function cancelReplay({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['cancelReplay'] {
  return ({ workspaceId, id }, context) =>
    translated(() =>
      inTransaction(pool, async (tx) => {
        const replay = found(await endReplay(tx, workspaceId, id), 'replay', id);
        const { environment, webhookId } = replay;
        const details = { webhook_id: webhookId, replayed: replay.replayed };
        await appendAudit(tx, context, [
          { workspaceId, environment, action: 'replay.cancelled', targetId: id, details },
        ]);
        return { replay: toReplayMessage(replay) };
      }),
    );
}
