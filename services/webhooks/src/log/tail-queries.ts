import { inTransaction, type Pool, type Queryable } from '@rms/db';
import { readNewestPosition } from '../feed/feed-queries.ts';
import type { Tenant } from '../subscription/webhook.ts';
import type { LoggedAttempt } from './attempt.ts';
import type { LogSource } from './log-filter.ts';
import { deliveriesOfEvent, type LoggedDelivery, statusOf } from './log-queries.ts';

/** A delivery with the outcome of its last attempt. */
export interface TailedDelivery extends Omit<LoggedDelivery, 'attempts'> {
  readonly attemptCount: number;
  /** Null: there was none. */
  readonly lastAttempt: Pick<LoggedAttempt, 'number' | 'at' | 'status_code' | 'error' | 'duration_ms'> | null;
  /** Of its event in the feed; 0 if it was asked for by its id. */
  readonly position: bigint;
}

export interface Tail {
  readonly position: bigint;
  /** Of events after a position, in the order of the feed. */
  readonly deliveries: readonly TailedDelivery[];
  /** Those of events up to here may be missing: there were more. */
  readonly completeAfter: bigint;
  readonly known: readonly TailedDelivery[];
}

const mostEvents = 100n;
const mostDeliveries = 500;

type TailRow = Omit<TailedDelivery, 'position'> & { readonly position: string };

/**
 * Deliveries of the events after a position (undefined: of the last ones), and those with the ids. From one snapshot: a
 * delivery is stored with its event, whose place in the feed has no gaps, so that none comes later than its position.
 */
export function readTail(
  pool: Pool,
  tenant: Tenant,
  { after, knownIds }: { after: bigint | undefined; knownIds: readonly string[] },
): Promise<Tail> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    const position = await readNewestPosition(tx, tenant);
    const first = position > mostEvents ? position - mostEvents : 0n;
    const from = after === undefined || after < first ? first : after;
    const found = from < position ? await readAfter(tx, tenant, from) : [];
    const known = knownIds.length > 0 ? await readKnown(tx, tenant, knownIds) : [];
    const deliveries = found.slice(-mostDeliveries);
    const completeAfter = found.length > deliveries.length ? (deliveries[0]?.position ?? position) : from;
    return { position, deliveries, completeAfter, known };
  });
}

async function readAfter(tx: Queryable, { workspaceId, environment }: Tenant, from: bigint): Promise<TailedDelivery[]> {
  const part = (source: LogSource) => `
       select e.position, d.* from events as e
        cross join lateral (select ${columnsOf(source)} from webhooks.${source} as d where ${deliveriesOfEvent} offset 0) as d`;
  const { rows } = await tx.query<TailRow>({
    name: 'tail',
    text: `
      with events as materialized (
        select workspace_id, environment, id, position from webhooks.events
         where workspace_id = $1 and environment = $2 and position > $3 order by position desc limit $4
      )
      select * from (${part('deliveries')}
        union all${part('delivery_log')}
      ) as found order by position desc, id limit $5`,
    values: [workspaceId, environment, from, mostEvents, mostDeliveries + 1],
  });
  return rows.map(toTailed).reverse();
}

async function readKnown(tx: Queryable, { workspaceId, environment }: Tenant, ids: readonly string[]) {
  const part = (source: LogSource) => `
       select 0 as position, d.* from unnest($3::text[]) as known (id)
        cross join lateral (
              select ${columnsOf(source)} from webhooks.${source} as d
               where d.workspace_id = $1 and d.environment = $2 and d.id = known.id) as d`;
  const { rows } = await tx.query<TailRow>({
    name: 'tail-known',
    text: `${part('deliveries')} union all ${part('delivery_log')}`,
    values: [workspaceId, environment, ids],
  });
  return rows.map(toTailed);
}

function columnsOf(source: LogSource): string {
  return `d.workspace_id as "workspaceId", d.environment, d.id, d.event_id as "eventId", d.event_type as "eventType",
              d.webhook_id as "webhookId", d.resource_id as "resourceId", d.request_id as "requestId", d.origin,
              d.created_at as "createdAt", ${statusOf[source]} as status,
              ${source === 'deliveries' ? 'd.due_at' : 'null::timestamptz'} as "dueAt",
              jsonb_array_length(d.attempts) as "attemptCount",
              d.attempts -> -1 #- '{request_headers}' #- '{response_headers}' #- '{response_body}' #- '{response_bytes}'
                as "lastAttempt"`;
}

function toTailed(row: TailRow): TailedDelivery {
  return { ...row, position: BigInt(row.position) };
}
