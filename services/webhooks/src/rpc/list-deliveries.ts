import { timestampDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import { subjectPrefixes } from '@rms/base/webhook-events';
import { makePageToken, readPageToken } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryStatuses, toDeliveryMessage, toStatusNames } from '../delivery/delivery-message.ts';
import { readDeliveries } from '../delivery/log-queries.ts';
import { checkIdFilters, checkPageSize, type HandlerParts, longPage } from './parts.ts';

/** Returns a delivery log page, newest first. A page may be short even if more follow; see readDeliveries(). */
export function listDeliveries({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof DeliveriesService>['listDeliveries'] {
  return async (request) => {
    const { pageSize, pageToken, webhookId, requestId, eventId, eventType, resourceId, since, until, test } = request;
    const attempts = request.withAttempts ? 'summaries' : 'none';
    checkPageSize(pageSize, longPage);
    checkIdFilters({
      webhook_id: [webhookId, 'wh'],
      event_id: [eventId, 'evt'],
      resource_id: [resourceId, ...subjectPrefixes],
    });
    const scope = toScope(request);
    const statuses = toStatusNames(
      request.status === DeliveryStatus.UNSPECIFIED ? request.statuses : [...request.statuses, request.status],
    );
    if (!statuses) {
      const message = `must contain only ${deliveryStatuses.names.join(', ')}`;
      throw new RmsError('invalid_request', { details: [{ field: 'statuses', message }] });
    }
    const filter = {
      webhookId: webhookId || undefined,
      requestId: requestId || undefined,
      eventId: eventId || undefined,
      eventType: eventType || undefined,
      resourceId: resourceId || undefined,
      test,
      since: since && timestampDate(since),
      until: until && timestampDate(until),
      statuses: statuses.length > 0 ? statuses : undefined,
    };
    const binding = ['deliveries', scope.workspaceId, ...scope.environments, JSON.stringify(filter)].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const from = { ...filter, before: start?.keys[0] };
    const { deliveries, next } = await readDeliveries(pool, { scope, filter: from, limit: pageSize, attempts });
    const page = start?.page ?? 1;
    return {
      deliveries: deliveries.map(toDeliveryMessage),
      nextPageToken: next
        ? makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [next], page: page + 1 })
        : '',
      page,
    };
  };
}
