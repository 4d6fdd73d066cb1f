import { toTenant } from '@rms/base/tenant';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { readFeedEvent } from '../event/feed-queries.ts';
import { found, type HandlerParts } from './parts.ts';

export function getEvent({ pool }: HandlerParts): Handlers<typeof EventsService>['getEvent'] {
  return async (request) => {
    const { id, withOperational } = request;
    return { event: found(await readFeedEvent(pool, toTenant(request), { id, withOperational }), 'event', id) };
  };
}
