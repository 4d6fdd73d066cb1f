import { RmsError } from '@rms/errors';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { toHealthMessage } from '../health/health-message.ts';
import { readHealth } from '../health/health-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { type HandlerParts, translated } from './parts.ts';

/** As many as a page of webhooks has. */
const mostIds = 100;

export function batchGetWebhookHealth({
  pool,
}: HandlerParts): Handlers<typeof WebhooksService>['batchGetWebhookHealth'] {
  return (request) =>
    translated(async () => {
      const { ids } = request;
      if (ids.length < 1 || ids.length > mostIds) {
        throw new RmsError('invalid_request', { details: [{ field: 'ids', message: `must be 1 to ${mostIds}` }] });
      }
      const nowMs = Date.now();
      const healths = await readHealth(pool, toScope(request), [...new Set(ids)], nowMs);
      return { healths: healths.map((health) => toHealthMessage(health, nowMs)) };
    });
}
