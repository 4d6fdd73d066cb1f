import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { readFeed, readFeedEnds } from '../feed/feed-queries.ts';
import { toTenant } from '../subscription/webhook-message.ts';
import { checkPageSize, type HandlerParts, translated } from './parts.ts';

const pageSizeLimit = 1_000;

export function listEvents({ pool }: HandlerParts): Handlers<typeof EventsService>['listEvents'] {
  return (request) =>
    translated(async () => {
      const { after, pageSize, type } = request;
      checkPageSize(pageSize, pageSizeLimit);
      const tenant = toTenant(request);
      const [events, { oldest, newest }] = await Promise.all([
        readFeed(pool, tenant, { after, limit: pageSize, type: type || undefined }),
        readFeedEnds(pool, tenant),
      ]);
      return { events, oldestPosition: oldest, newestPosition: newest };
    });
}
