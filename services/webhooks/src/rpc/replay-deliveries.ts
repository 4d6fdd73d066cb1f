import { timestampDate } from '@bufbuild/protobuf/wkt';
import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { countFailed, replayFailed } from '../log/log-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { findWebhook } from '../subscription/webhook-queries.ts';
import { checkCallable, found, type HandlerParts, translated } from './parts.ts';

export function replayDeliveries({
  pool,
  engine,
}: HandlerParts): Handlers<typeof DeliveriesService>['replayDeliveries'] {
  return (request, context) =>
    translated(async () => {
      const { webhookId, since, dryRun } = request;
      if (!since) throw new RmsError('invalid_request', { details: [{ field: 'since', message: 'must be given' }] });
      const scope = toScope(request);
      const { workspaceId, environment, status } = found(
        await findWebhook(pool, scope, webhookId),
        'webhook',
        webhookId,
      );
      if (dryRun) return { count: BigInt(await countFailed(pool, scope, webhookId, timestampDate(since))) };
      checkCallable(status);
      const count = await inTransaction(pool, async (tx) => {
        const count = await replayFailed(tx, scope, webhookId, timestampDate(since));
        const details = { since: timestampDate(since), count };
        const change = { workspaceId, environment, action: 'deliveries.replayed', targetId: webhookId, details };
        await appendAudit(tx, context, [change]);
        return count;
      });
      engine.wake();
      return { count: BigInt(count) };
    });
}
