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

/** Events after a position, in the order of the feed. Positions are without gaps: whoever counts them sees a loss. */
export async function readFeed(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  { after, limit, type }: { after: bigint; limit: number; type?: string | undefined },
): Promise<FeedEvent[]> {
  const { rows } = await db.query<{
    position: string;
    id: string;
    type: string;
    request_id: string;
    body: Buffer | null;
  }>({
    name: type === undefined ? 'feed' : 'feed-of-type',
    text: `
      select position, id, type, request_id, body from webhooks.events
       where workspace_id = $1 and environment = $2 and position > $3 ${type === undefined ? '' : 'and type = $5'}
       order by position limit $4`,
    values: [workspaceId, environment, after, limit, ...(type === undefined ? [] : [type])],
  });
  return rows.map((row) => ({
    position: BigInt(row.position),
    id: row.id,
    type: row.type,
    requestId: row.request_id,
    body: row.body ?? Buffer.alloc(0),
  }));
}

/** The positions of the first event that is kept and of the last one; 0: there is none. */
export async function readFeedEnds(
  db: Queryable,
  { workspaceId, environment }: Tenant,
): Promise<{ oldest: bigint; newest: bigint }> {
  const { rows } = await db.query<{ oldest: string | null; newest: string | null }>({
    name: 'feed-ends',
    text: `
      select (select min(position) from webhooks.events where workspace_id = $1 and environment = $2) as oldest,
             (select last_position from webhooks.feeds where workspace_id = $1 and environment = $2) as newest`,
    values: [workspaceId, environment],
  });
  return { oldest: BigInt(rows[0]?.oldest ?? 0), newest: BigInt(rows[0]?.newest ?? 0) };
}
