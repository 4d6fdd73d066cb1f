import { RmsError } from '@rms/base/errors';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toAttemptMessage, toDeliveryMessage } from '../delivery/delivery-message.ts';
import { delayColumns, endpointIfDue, type LogSource, statusOf } from '../delivery/log-filter.ts';
import { deliveriesOfEvent, type LoggedDelivery } from '../delivery/log-queries.ts';
import { attemptCount, lastAttempt } from '../engine/record/logged-attempt.ts';
import { readFirstDeferred } from '../event/deferred-fan-out.ts';
import { readNewestPosition } from '../event/feed-queries.ts';
import type { HandlerParts } from './parts.ts';

const maxKnown = 200;

export function tailDeliveries({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['tailDeliveries'] {
  return async (request) => {
    const { after, knownIds } = request;
    if (knownIds.length > maxKnown) {
      const details = [{ field: 'known_ids', message: `must have at most ${maxKnown} items` }];
      throw new RmsError('invalid_request', { details });
    }
    const tail = await readTail(pool, toTenant(request), { after, knownIds: [...new Set(knownIds)] });
    return {
      ...tail,
      deliveries: tail.deliveries.map(toTailedMessage),
      known: tail.known.map(toTailedMessage),
    };
  };
}

function toTailedMessage({ position, ...tailed }: TailedDelivery) {
  const { lastAttempt, attemptCount } = tailed;
  return {
    delivery: toDeliveryMessage({ ...tailed, attempts: [] }),
    ...(lastAttempt ? { lastAttempt: toAttemptMessage(lastAttempt) } : {}),
    attemptCount,
    position,
  };
}

/** A delivery with the result of its last attempt. */
interface TailedDelivery extends Omit<LoggedDelivery, 'attempts'> {
  /** Position of the event in the feed; 0 if the delivery was requested by ID. */
  readonly position: bigint;
}

interface Tail {
  readonly position: bigint;
  /** Deliveries of the events after the requested position, in feed order. */
  readonly deliveries: readonly TailedDelivery[];
  /** Deliveries of events up to this position may be missing, because there were too many. */
  readonly completeAfter: bigint;
  readonly known: readonly TailedDelivery[];
}

const maxEvents = 100n;
const maxDeliveries = 500;

type TailRow = Omit<TailedDelivery, 'position'> & { readonly position: string };

/**
 * Reads the events' deliveries after a position (if undefined, of the latest events), and the deliveries with
 * `knownIds`, from one snapshot. The result ends before the first deferred event of the tenant. Up to there, all
 * deliveries are stored and positions are gapless, so no delivery appears later at a position that was already read.
 */
function readTail(
  pool: Pool,
  tenant: Tenant,
  { after, knownIds }: { after: bigint | undefined; knownIds: readonly string[] },
): Promise<Tail> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    const position = await readCompletePosition(tx, tenant);
    const first = position > maxEvents ? position - maxEvents : 0n;
    const from = after === undefined || after < first ? first : after;
    const found = from < position ? await readAfter(tx, tenant, from, position) : [];
    const known = knownIds.length > 0 ? await readKnown(tx, tenant, knownIds) : [];
    const deliveries = found.slice(-maxDeliveries);
    const completeAfter = found.length > deliveries.length ? (deliveries[0]?.position ?? position) : from;
    return { position, deliveries, completeAfter, known };
  });
}

/** Returns the last position with all earlier deliveries stored. */
async function readCompletePosition(tx: Queryable, tenant: Tenant): Promise<bigint> {
  const newest = await readNewestPosition(tx, tenant);
  const deferred = await readFirstDeferred(tx, tenant);
  return deferred === undefined ? newest : deferred - 1n;
}

async function readAfter(
  tx: Queryable,
  { workspaceId, environment }: Tenant,
  from: bigint,
  to: bigint,
): Promise<TailedDelivery[]> {
  const part = (source: LogSource) => `
       select e.position, d.* from events as e
        cross join lateral (select ${columnsOf(source)} from webhooks.${source} as d where ${deliveriesOfEvent} offset 0) as d`;
  const { rows } = await tx.query<TailRow>({
    name: 'tail',
    text: `
      with events as materialized (
        select workspace_id, environment, id, position from webhooks.events
         where workspace_id = $1 and environment = $2 and position > $3 and position <= $6
          order by position desc limit $4
      )
      ${withDelays(`
        select * from (${part('deliveries')}
          union all${part('delivery_log')}
        ) as stored order by position desc, id limit $5`)}
       order by position desc, id`,
    values: [workspaceId, environment, from, maxEvents, maxDeliveries + 1, to],
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
    text: withDelays(`${part('deliveries')} union all ${part('delivery_log')}`),
    values: [workspaceId, environment, ids],
  });
  return rows.map(toTailed);
}

/** Adds the columns of delays to deliveries with the column due_at. */
function withDelays(deliveries: string): string {
  return `select found.*, ${delayColumns('found.due_at')}
            from (${deliveries}) as found ${endpointIfDue('found."webhookId"', 'found.due_at')}`;
}

function columnsOf(source: LogSource): string {
  return `d.workspace_id as "workspaceId", d.environment, d.id, d.event_id as "eventId", d.event_type as "eventType",
              d.webhook_id as "webhookId", d.resource_id as "resourceId", d.request_id as "requestId", d.origin,
              d.created_at as "createdAt", ${statusOf[source]} as status,
              ${source === 'deliveries' ? 'd.due_at' : 'null::timestamptz'} as due_at,
              ${source === 'deliveries' ? 'null::timestamptz' : 'd.ended_at'} as "endedAt",
              ${source === 'deliveries' ? 'null::text' : 'd.end_reason'} as "endReason",
              ${attemptCount} as "attemptCount", ${lastAttempt} as "lastAttempt"`;
}

function toTailed(row: TailRow): TailedDelivery {
  return { ...row, position: BigInt(row.position) };
}
