import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import { makePageToken, readPageToken } from '@rms/postgres/db';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryStatuses } from '../delivery/delivery-message.ts';
import { type ResourceEvent, readResourceEvents } from '../delivery/resource-event-queries.ts';
import { checkPageSize, type HandlerParts } from './parts.ts';

const pageSizeLimit = 100;

export function listEventsOfResource({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof EventsService>['listEventsOfResource'] {
  return async (request) => {
    const { resourceId, pageSize, pageToken } = request;
    checkPageSize(pageSize, pageSizeLimit);
    if (resourceId === '') {
      throw new RmsError('invalid_request', { details: [{ field: 'resource_id', message: 'must not be empty' }] });
    }
    const scope = toScope(request);
    const binding = ['events of resource', scope.workspaceId, ...scope.environments, resourceId].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const before = start?.keys[0];
    const { events, hasMore } = await readResourceEvents(pool, scope, { resourceId, before, limit: pageSize });
    const last = hasMore ? events.at(-1) : undefined;
    const page = (start?.page ?? 1) + 1;
    return {
      events: events.map(toEventMessage),
      nextPageToken: last ? makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [last.id], page }) : '',
    };
  };
}

function toEventMessage(event: ResourceEvent) {
  const { id, type, position, sequence, requestId, actor, createdAt, body, deliveries, hasMoreDeliveries } = event;
  return {
    id,
    type,
    position,
    sequence,
    requestId,
    actor,
    createTime: timestampFromDate(createdAt),
    body: body ?? Buffer.alloc(0),
    deliveries: deliveries.map((delivery) => ({
      id: delivery.id,
      webhookId: delivery.webhookId,
      status: deliveryStatuses.toValue(delivery.status),
      attemptCount: delivery.attempts,
      statusCode: delivery.statusCode ?? 0,
      error: delivery.error ?? '',
    })),
    hasMoreDeliveries,
  };
}
