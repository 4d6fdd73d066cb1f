import { timestampMs } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { firstId } from '@rms/base/ids';
import { type Tenant, toTenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkReached, readFeed } from '../event/feed-queries.ts';
import { checkPageSize, type HandlerParts, longPage } from './parts.ts';

export function listEvents({ pool }: HandlerParts): Handlers<typeof EventsService>['listEvents'] {
  return async (request) => {
    const { pageSize, type, until, withOperational } = request;
    checkPageSize(pageSize, longPage);
    if (type !== '') throw invalid('type', 'must be empty: the feed has no filter');
    const tenant = toTenant(request);
    const last = until && (await lastBefore(pool, tenant, timestampMs(until)));
    const after = last === undefined ? request.after : max(0n, last - BigInt(pageSize));
    const page = await readFeed(pool, tenant, {
      after,
      withOperational,
      withPrevious: true,
      limit: last === undefined ? pageSize : Number(last - after),
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

/** Returns the position of the last event that was created before a time; 0 if there is none. */
async function lastBefore(db: Queryable, { workspaceId, environment }: Tenant, untilMs: number): Promise<bigint> {
  // IDs begin with the time of creation.
  const { rows } = await db.query<{ position: string }>(
    `select position from webhooks.events where workspace_id = $1 and environment = $2 and id < $3
      order by id desc limit 1`,
    [workspaceId, environment, firstId('evt', untilMs)],
  );
  return BigInt(rows[0]?.position ?? 0);
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
