import { timestampDate } from '@bufbuild/protobuf/wkt';
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
  return (request) =>
    translated(async () => {
      const { webhookId, since, dryRun } = request;
      if (!since) throw new RmsError('invalid_request', { details: [{ field: 'since', message: 'must be given' }] });
      const scope = toScope(request);
      const { status } = found(await findWebhook(pool, scope, webhookId), 'webhook', webhookId);
      if (!dryRun) checkCallable(status);
      const take = dryRun ? countFailed : replayFailed;
      const count = await take(pool, scope, webhookId, timestampDate(since));
      if (!dryRun) engine.wake();
      return { count: BigInt(count) };
    });
}
