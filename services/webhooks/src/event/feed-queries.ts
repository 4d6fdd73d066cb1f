import { RmsError } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { pageBytes, type Queryable } from '@rms/postgres/db';
import { firstWithin } from './page-bytes.ts';

/** An event in the feed of its tenant. */
export interface FeedEvent {
  readonly position: bigint;
  readonly id: string;
  readonly type: string;
  readonly requestId: string;
  /** Empty after erasure. */
  readonly body: Buffer;
}

/** A feed page, with the feed's range at the same moment. */
export interface FeedPage {
  readonly events: FeedEvent[];
  /** Position of the first retained event; 0 if no event is retained. */
  readonly oldest: bigint;
  /** Position of the last event ever stored, even if it is no longer retained; 0 if there was none. */
  readonly newest: bigint;
  /** Whether more events follow the page. */
  readonly hasMore: boolean;
  /** Position before the previous page; undefined if the page is the first one. Only {@link FeedReading.withPrevious}. */
  readonly previous: bigint | undefined;
}

interface FeedRow {
  oldest: string;
  newest: string;
  last: string;
  previous: string | null;
  /** Null if there is no event after the requested position. */
  position: string | null;
  id: string;
  type: string;
  request_id: string;
  body: Buffer | null;
}

export interface FeedReading {
  readonly after: bigint;
  /** Whether operational events are read too. */
  readonly withOperational: boolean;
  /** Whether the position before the previous page is read. */
  readonly withPrevious?: boolean;
  /** Maximum number of events. */
  readonly limit: number;
  /** Maximum size of all bodies, unless the first one is larger; {@link pageBytes} if undefined. */
  readonly bytes?: number | undefined;
}

/**
 * Reads the events after a position, in feed order, and the feed's ends. A page has fewer than `limit` events if
 * their bodies would be too large together. Positions are gapless within an epoch, so that a reader can detect a loss;
 * a reader without operational events can by `oldest`. Uses one statement, so that the ends and the events are consistent.
 */
export async function readFeed(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  { after, withOperational, withPrevious = false, limit, bytes = pageBytes }: FeedReading,
): Promise<FeedPage> {
  const feed = `webhooks.events where workspace_id = $1 and environment = $2${withOperational ? '' : ` and type like 'resource.%'`}`;
  const page = `
                select position, id, type, request_id, body from ${feed} and position > $3
                 order by position limit $4`;
  const { rows } = await db.query<FeedRow>({
    name: `feed-${withOperational ? 'all' : 'resources'}`,
    text: `
      select ends.*, e.position, e.id, e.type, e.request_id, e.body
        from (
          select coalesce((select position from webhooks.events
                            where workspace_id = $1 and environment = $2 order by position limit 1), 0) as oldest,
                 coalesce((select ${feedEnd('f')} from webhooks.feeds as f
                            where workspace_id = $1 and environment = $2), 0) as newest,
                 coalesce((select position from ${feed} order by position desc limit 1), 0) as last,
                 case when $6 then (
                   select case when count(*) > $4 then min(position) when count(*) > 0 then min(position) - 1 end
                     from (select position from ${feed} and position <= $3 order by position desc limit $4 + 1) as earlier
                 ) end as previous
        ) as ends
        left join (${firstWithin(page, 'position', '$5')}
        ) as e on true
       order by e.position`,
    values: [workspaceId, environment, after, limit, bytes, withPrevious],
  });
  const [first] = rows;
  const events = rows.flatMap(({ position, id, type: eventType, request_id: requestId, body }) =>
    position === null
      ? []
      : [{ position: BigInt(position), id, type: eventType, requestId, body: body ?? Buffer.alloc(0) }],
  );
  return {
    events,
    oldest: BigInt(first?.oldest ?? 0),
    newest: BigInt(first?.newest ?? 0),
    hasMore: BigInt(first?.last ?? 0) > (events.at(-1)?.position ?? after),
    previous: first?.previous ? BigInt(first.previous) : undefined,
  };
}

/**
 * Throws `invalid_request` if the feed has not reached `after`. Such a position belongs to another feed, or to a state of
 * the database that was lost. A reader that continued from it would wait silently and miss events.
 */
export function checkReached(after: bigint, { newest }: FeedPage): void {
  if (after <= newest) return;
  const message = `is beyond the newest event, whose sequence is ${newest}`;
  throw new RmsError('invalid_request', { details: [{ field: 'after', message }] });
}

/** Reads an event of a feed; undefined if it is not stored, or is an operational event that is not to be read. */
export async function readFeedEvent(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  { id, withOperational }: { readonly id: string; readonly withOperational: boolean },
): Promise<FeedEvent | undefined> {
  const { rows } = await db.query<{ position: string; type: string; request_id: string; body: Buffer | null }>({
    name: 'feed-event',
    text: `
      select position, type, request_id, body from webhooks.events
       where workspace_id = $1 and environment = $2 and id = $3 and ($4 or type like 'resource.%')`,
    values: [workspaceId, environment, id, withOperational],
  });
  const [row] = rows;
  return (
    row && {
      position: BigInt(row.position),
      id,
      type: row.type,
      requestId: row.request_id,
      body: row.body ?? Buffer.alloc(0),
    }
  );
}

/** Returns the last event's position in a feed; 0 if it was empty. */
export async function readNewestPosition(db: Queryable, { workspaceId, environment }: Tenant): Promise<bigint> {
  const { rows } = await db.query<{ last_position: string }>({
    name: 'feed-newest',
    text: `select ${feedEnd('f')} as last_position from webhooks.feeds as f where workspace_id = $1 and environment = $2`,
    values: [workspaceId, environment],
  });
  return BigInt(rows[0]?.last_position ?? 0);
}

/** Reads the delivered parts of an event; undefined if it is no longer retained. */
export async function readEvent(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  id: string,
): Promise<{ readonly traceparent: string; readonly body: Buffer | null } | undefined> {
  const { rows } = await db.query<{ traceparent: string; body: Buffer | null }>({
    name: 'event-by-id',
    text: 'select traceparent, body from webhooks.events where workspace_id = $1 and environment = $2 and id = $3',
    values: [workspaceId, environment, id],
  });
  return rows[0];
}

/** By how much positions rise per epoch, so that a reader with a position from the lost state sees a gap. */
const positionsPerEpoch = 1_000_000;

/** SQL of the feeds' epoch: it rises when the database has gone back, or an unknown number of events is lost. */
const currentEpoch = '(select epoch from webhooks.feed_epoch where single)';

/** SQL of the `last_position` of a feed in an epoch. Its row may be of an earlier one. */
export const feedEnd = (feed: string, epoch = currentEpoch) =>
  `(${feed}.last_position + ${positionsPerEpoch}::bigint * (${epoch} - ${feed}.epoch))`;

/**
 * SQL of the `last_position` of a feed that is created in an epoch (a row of `webhooks.feed_epoch`). The feed of a
 * workspace that is older than the epoch may have had events that are lost.
 */
export const newFeedEnd = (workspaceId: string, epoch: string) =>
  `case when ${workspaceId} >= ${epoch}.first_workspace then 0 else ${positionsPerEpoch}::bigint * ${epoch}.epoch end`;
