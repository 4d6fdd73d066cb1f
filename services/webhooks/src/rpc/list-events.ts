import { RmsError } from '@rms/base/errors';
import { toTenant } from '@rms/base/tenant';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkReached, readFeed } from '../event/feed-queries.ts';
import { checkPageSize, type HandlerParts, longPage } from './parts.ts';

export function listEvents({ pool }: HandlerParts): Handlers<typeof EventsService>['listEvents'] {
  return async (request) => {
    const { after, pageSize, type, withOperational } = request;
    checkPageSize(pageSize, longPage);
    if (type !== '') throw invalid('type', 'must be empty: the feed has no filter');
    const page = await readFeed(pool, toTenant(request), {
      after,
      withOperational,
      withPrevious: true,
      limit: pageSize,
    });
    checkReached(after, page);
    const { events, oldest, newest, hasMore, previous } = page;
    return {
      events,
      oldestPosition: oldest,
      newestPosition: newest,
      hasMore,
      ...(previous === undefined ? {} : { previousAfter: previous }),
    };
  };
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
