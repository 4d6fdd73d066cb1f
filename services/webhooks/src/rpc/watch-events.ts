import { translatePgError } from '@rms/db';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { readFeed, readNewestPosition } from '../feed/feed-queries.ts';
import { toTenant } from '../subscription/webhook-message.ts';
import type { HandlerParts } from './parts.ts';

/** Events that another instance stores are found by asking; few watch at a time. */
const pollMs = 200;
const batch = 100;

/** Ends with the call, or once the service stops: whoever watches goes on elsewhere, after the last position. */
export function watchEvents({ pool, watchers }: HandlerParts): Handlers<typeof EventsService>['watchEvents'] {
  return async function* (request, { signal, stopping }) {
    const tenant = toTenant(request);
    const watcher = watchers.join(tenant.workspaceId);
    try {
      let after = request.after ?? (await readNewestPosition(pool, tenant));
      while (!signal.aborted && !stopping.aborted) {
        const { events } = await readFeed(pool, tenant, { after, limit: batch });
        for (const event of events) {
          yield { event };
          if (stopping.aborted) return;
          after = event.position;
        }
        if (events.length < batch) await watcher.sleep(pollMs, signal);
      }
    } catch (error) {
      throw translatePgError(error);
    } finally {
      watcher.leave();
    }
  };
}
