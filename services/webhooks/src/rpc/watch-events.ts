import { toTenant } from '@rms/base/tenant';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkReached, readFeed, readNewestPosition } from '../event/feed-queries.ts';
import type { HandlerParts } from './parts.ts';

/** Interval for finding events that other instances stored. It is short, because there are few watchers. */
const pollMs = 200;
const batch = { limit: 100, bytes: 256 * 1024 };

/**
 * Streams events until the call ends or the service stops. The client then resumes on another instance after its last
 * position. Throws `invalid_request` if the feed has not reached the position, even later: the database may go back.
 */
export function watchEvents({ pool, watchers }: HandlerParts): Handlers<typeof EventsService>['watchEvents'] {
  return async function* (request, { signal, stopping }) {
    const tenant = toTenant(request);
    const { withOperational } = request;
    const watcher = watchers.join(tenant.workspaceId);
    try {
      let after = request.after ?? (await readNewestPosition(pool, tenant));
      while (!signal.aborted && !stopping.aborted) {
        const page = await readFeed(pool, tenant, { after, withOperational, ...batch });
        checkReached(after, page);
        const { events, hasMore } = page;
        for (const event of events) {
          yield { event };
          if (stopping.aborted) return;
          after = event.position;
        }
        if (!hasMore) await watcher.sleep(pollMs, signal);
      }
    } finally {
      watcher.leave();
    }
  };
}
