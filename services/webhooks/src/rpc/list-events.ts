import { RmsError } from '@rms/errors';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { readFeed } from '../feed/feed-queries.ts';
import { toTenant } from '../subscription/webhook-message.ts';
import { checkPageSize, type HandlerParts, translated } from './parts.ts';

const pageSizeLimit = 1_000;

export function listEvents({ pool }: HandlerParts): Handlers<typeof EventsService>['listEvents'] {
  return (request) =>
    translated(async () => {
      const { after, pageSize, type } = request;
      checkPageSize(pageSize, pageSizeLimit);
      const { events, oldest, newest } = await readFeed(pool, toTenant(request), {
        after,
        limit: pageSize,
        type: type || undefined,
      });
      checkReached(after, newest);
      return { events, oldestPosition: oldest, newestPosition: newest };
    });
}

/**
 * A position that the feed has not reached is of another feed, or of a database that has been restored since: who went on
 * from it would wait in silence, and miss events. Throws `invalid_request`.
 */
function checkReached(after: bigint, newest: bigint): void {
  if (after <= newest) return;
  const message = `is beyond the newest event, whose sequence is ${newest}`;
  throw new RmsError('invalid_request', { details: [{ field: 'after', message }] });
}
