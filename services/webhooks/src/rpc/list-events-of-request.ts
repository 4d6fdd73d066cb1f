import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { traceIdOf } from '@rms/async/tracing';
import { RmsError } from '@rms/base/errors';
import { toEnvironmentMessage, toScope } from '@rms/base/tenant';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { type EventProgress, readEventProgress } from '../event/progress-queries.ts';
import type { HandlerParts } from './parts.ts';

const maxListed = 1_000;

export function listEventsOfRequest({ pool }: HandlerParts): Handlers<typeof EventsService>['listEventsOfRequest'] {
  return async (request) => {
    const { requestId } = request;
    if (requestId === '') {
      throw new RmsError('invalid_request', { details: [{ field: 'request_id', message: 'must not be empty' }] });
    }
    return { events: (await readEventProgress(pool, toScope(request), requestId, maxListed)).map(toProgressMessage) };
  };
}

function toProgressMessage(event: EventProgress) {
  const { id, environment, type, resourceId, position, createdAt, storedAt, busPartition, busOffset } = event;
  return {
    id,
    environment: toEnvironmentMessage(environment),
    type,
    resourceId,
    position,
    createTime: timestampFromDate(createdAt),
    ...(storedAt ? { storeTime: timestampFromDate(storedAt) } : {}),
    ...(busPartition === null ? {} : { busPartition }),
    ...(busOffset === null ? {} : { busOffset }),
    traceId: traceIdOf(event.traceparent),
    actor: event.actor,
  };
}
