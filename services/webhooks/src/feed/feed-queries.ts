import type { Queryable } from '@rms/db';
import type { Tenant } from '../subscription/webhook.ts';

/** An event in the feed of its tenant. */
export interface FeedEvent {
  readonly position: bigint;
  readonly id: string;
  readonly type: string;
  readonly requestId: string;
  /** Empty once erased. */
  readonly body: Buffer;
}

/** Some events of a feed, and how far it reaches at the same moment. */
export interface FeedPage {
  readonly events: FeedEvent[];
  /** The position of the first event that is kept; 0: none is. */
  readonly oldest: bigint;
  /** The position of the last event, whether or not it is kept; 0: there has been none. */
  readonly newest: bigint;
}

interface FeedRow {
  oldest: string;
  newest: string;
  /** Null: there is no event after the position. */
  position: string | null;
  id: string;
  type: string;
  request_id: string;
  body: Buffer | null;
}

/**
 * Events after a position, in the order of the feed, and its ends. Positions are without gaps: whoever counts them sees a
 * loss. One statement, so that the ends are those of the moment in which the events were read.
 */
export async function readFeed(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  { after, limit, type }: { after: bigint; limit: number; type?: string | undefined },
): Promise<FeedPage> {
  const { rows } = await db.query<FeedRow>({
    name: type === undefined ? 'feed' : 'feed-of-type',
    text: `
      select ends.oldest, ends.newest, e.position, e.id, e.type, e.request_id, e.body
        from (
          select coalesce((select position from webhooks.events
                            where workspace_id = $1 and environment = $2 order by position limit 1), 0) as oldest,
                 coalesce((select last_position from webhooks.feeds
                            where workspace_id = $1 and environment = $2), 0) as newest
        ) as ends
        left join (
          select position, id, type, request_id, body from webhooks.events
           where workspace_id = $1 and environment = $2 and position > $3 ${type === undefined ? '' : 'and type = $5'}
           order by position limit $4
        ) as e on true
       order by e.position`,
    values: [workspaceId, environment, after, limit, ...(type === undefined ? [] : [type])],
  });
  const [first] = rows;
  return {
    events: rows.flatMap(({ position, id, type: eventType, request_id: requestId, body }) =>
      position === null
        ? []
        : [{ position: BigInt(position), id, type: eventType, requestId, body: body ?? Buffer.alloc(0) }],
    ),
    oldest: BigInt(first?.oldest ?? 0),
    newest: BigInt(first?.newest ?? 0),
  };
}

/** The position of the last event of a feed; 0: there has been none. */
export async function readNewestPosition(db: Queryable, { workspaceId, environment }: Tenant): Promise<bigint> {
  const { rows } = await db.query<{ last_position: string }>({
    name: 'feed-newest',
    text: 'select last_position from webhooks.feeds where workspace_id = $1 and environment = $2',
    values: [workspaceId, environment],
  });
  return BigInt(rows[0]?.last_position ?? 0);
}

/** What is delivered of an event; undefined: it is not kept any more. */
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
