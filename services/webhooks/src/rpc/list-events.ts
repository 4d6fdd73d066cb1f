import { RmsError } from '@rms/errors';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { toTenant } from '@rms/tenant';
import { readFeed } from '../feed/feed-queries.ts';
import { checkPageSize, type HandlerParts } from './parts.ts';

const pageSizeLimit = 1_000;

export function listEvents({ pool }: HandlerParts): Handlers<typeof EventsService>['listEvents'] {
  return async (request) => {
    const { after, pageSize, type } = request;
    checkPageSize(pageSize, pageSizeLimit);
    if (type !== '') throw invalid('type', 'must be empty: the feed has no filter');
    const { events, oldest, newest } = await readFeed(pool, toTenant(request), { after, limit: pageSize });
    checkReached(after, newest);
    return { events, oldestPosition: oldest, newestPosition: newest };
  };
}

/**
 * Throws `invalid_request` if the feed has not reached `after`. Such a position belongs to another feed, or to a
 * database that was restored since. A reader that continued from it would wait silently and miss events.
 */
function checkReached(after: bigint, newest: bigint): void {
  if (after <= newest) return;
  throw invalid('after', `is beyond the newest event, whose sequence is ${newest}`);
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
