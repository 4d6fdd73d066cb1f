import { timestampDate } from '@bufbuild/protobuf/wkt';
import { makePageToken, readPageToken } from '@rms/paging';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryStatuses, toDeliveryMessage } from '../log/delivery-message.ts';
import { readDeliveries } from '../log/log-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { checkPageSize, type HandlerParts, translated } from './parts.ts';

const pageSizeLimit = 1_000;

/** The delivery log, newest first. A page may be short though more follow: see readDeliveries(). */
export function listDeliveries({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof DeliveriesService>['listDeliveries'] {
  return (request) =>
    translated(async () => {
      const { pageSize, pageToken, webhookId, requestId, eventId, eventType, resourceId, since, until } = request;
      checkPageSize(pageSize, pageSizeLimit);
      const scope = toScope(request);
      const status = deliveryStatuses.toName(request.status);
      const filter = {
        webhookId: webhookId || undefined,
        requestId: requestId || undefined,
        eventId: eventId || undefined,
        eventType: eventType || undefined,
        resourceId: resourceId || undefined,
        since: since && timestampDate(since),
        until: until && timestampDate(until),
        status,
      };
      const binding = ['deliveries', scope.workspaceId, ...scope.environments, JSON.stringify(filter)].join('\n');
      const start = readPageToken(pageTokenKeys, binding, pageToken);
      const { deliveries, next } = await readDeliveries(pool, scope, { ...filter, before: start?.keys[0] }, pageSize);
      const page = (start?.page ?? 1) + 1;
      return {
        deliveries: deliveries.map(toDeliveryMessage),
        nextPageToken: next ? makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [next], page }) : '',
      };
    });
}
