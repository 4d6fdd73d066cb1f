import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { traceIdOf } from '@rms/tracing';
import { type EventPassage, readPassages } from '../feed/passage-queries.ts';
import { toEnvironmentMessage, toScope } from '../subscription/webhook-message.ts';
import { type HandlerParts, translated } from './parts.ts';

const listedAtMost = 1_000;

export function listEventsOfRequest({ pool }: HandlerParts): Handlers<typeof EventsService>['listEventsOfRequest'] {
  return (request) =>
    translated(async () => {
      const { requestId } = request;
      if (requestId === '') {
        throw new RmsError('invalid_request', { details: [{ field: 'request_id', message: 'must not be empty' }] });
      }
      return { events: (await readPassages(pool, toScope(request), requestId, listedAtMost)).map(toPassageMessage) };
    });
}

function toPassageMessage(event: EventPassage) {
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
  };
}
