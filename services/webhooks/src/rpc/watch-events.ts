import { translatePgError } from '@rms/db';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { abortableDelay } from '@rms/service';
import { readFeed, readNewestPosition } from '../feed/feed-queries.ts';
import { toTenant } from '../subscription/webhook-message.ts';
import type { HandlerParts } from './parts.ts';

const pollMs = 200;
const batch = 100;

/** For a developer's terminal: few watch at a time, so that asking again and again is enough. */
export function watchEvents({ pool }: HandlerParts): Handlers<typeof EventsService>['watchEvents'] {
  return async function* (request, { signal }) {
    try {
      const tenant = toTenant(request);
      let after = request.after ?? (await readNewestPosition(pool, tenant));
      while (!signal.aborted) {
        const { events } = await readFeed(pool, tenant, { after, limit: batch });
        for (const event of events) {
          yield { event };
          after = event.position;
        }
        if (events.length < batch) await abortableDelay(pollMs, signal);
      }
    } catch (error) {
      throw translatePgError(error);
    }
  };
}
