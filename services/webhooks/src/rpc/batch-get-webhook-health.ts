import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { toHealthMessage } from '../health/health-message.ts';
import { readHealth } from '../health/health-queries.ts';
import type { HandlerParts } from './parts.ts';

/** The page size limit of ListWebhooks. */
const maxIds = 100;

export function batchGetWebhookHealth({
  pool,
  time,
}: HandlerParts): Handlers<typeof WebhooksService>['batchGetWebhookHealth'] {
  return async (request) => {
    const { ids } = request;
    if (ids.length < 1 || ids.length > maxIds) {
      throw new RmsError('invalid_request', { details: [{ field: 'ids', message: `must be 1 to ${maxIds}` }] });
    }
    const nowMs = await time.fresh();
    const healths = await readHealth(pool, toScope(request), [...new Set(ids)], nowMs);
    return { healths: healths.map(toHealthMessage) };
  };
}
