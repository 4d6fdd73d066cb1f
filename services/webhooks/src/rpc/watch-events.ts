import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { toTenant } from '@rms/tenant';
import { readFeed, readNewestPosition } from '../feed/feed-queries.ts';
import type { HandlerParts } from './parts.ts';

/** Interval for finding events that other instances stored. It is short, because there are few watchers. */
const pollMs = 200;
const batch = { limit: 100, bytes: 256 * 1024 };

/**
 * Streams events until the call ends or the service stops. The client then resumes on another instance after its last
 * position.
 */
export function watchEvents({ pool, watchers }: HandlerParts): Handlers<typeof EventsService>['watchEvents'] {
  return async function* (request, { signal, stopping }) {
    const tenant = toTenant(request);
    const watcher = watchers.join(tenant.workspaceId);
    try {
      let after = request.after ?? (await readNewestPosition(pool, tenant));
      while (!signal.aborted && !stopping.aborted) {
        const { events, newest } = await readFeed(pool, tenant, { after, ...batch });
        for (const event of events) {
          yield { event };
          if (stopping.aborted) return;
          after = event.position;
        }
        if (events.length === 0 || after >= newest) await watcher.sleep(pollMs, signal);
      }
    } finally {
      watcher.leave();
    }
  };
}
