import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { type TenantScope, toScope } from '@rms/base/tenant';
import { inTransaction, makePageToken, type Pool, pageBytes, type Queryable, readPageToken } from '@rms/postgres/db';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryStatuses } from '../delivery/delivery-message.ts';
import { type LoggedStatus, statusOf } from '../delivery/log-filter.ts';
import { deliveriesOfEvent } from '../delivery/log-queries.ts';
import { attemptCount, lastAttempt } from '../engine/record/logged-attempt.ts';
import { firstWithin } from '../event/page-bytes.ts';
import { checkPageSize, type HandlerParts, shortPage } from './parts.ts';

export function listEventsOfResource({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof EventsService>['listEventsOfResource'] {
  return async (request) => {
    const { resourceId, pageSize, pageToken } = request;
    checkPageSize(pageSize, shortPage);
    if (resourceId === '') {
      throw new RmsError('invalid_request', { details: [{ field: 'resource_id', message: 'must not be empty' }] });
    }
    const scope = toScope(request);
    const binding = ['events of resource', scope.workspaceId, ...scope.environments, resourceId].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const before = start?.keys[0];
    const { events, hasMore } = await readResourceEvents(pool, scope, { resourceId, before, limit: pageSize });
    const last = hasMore ? events.at(-1) : undefined;
    const page = (start?.page ?? 1) + 1;
    return {
      events: events.map(toEventMessage),
      nextPageToken: last ? makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [last.id], page }) : '',
    };
  };
}

function toEventMessage(event: ResourceEvent) {
  const { id, type, position, sequence, requestId, actor, createdAt, body, deliveries, hasMoreDeliveries } = event;
  return {
    id,
    type,
    position,
    sequence,
    requestId,
    actor,
    createTime: timestampFromDate(createdAt),
    body: body ?? Buffer.alloc(0),
    deliveries: deliveries.map((delivery) => ({
      id: delivery.id,
      webhookId: delivery.webhookId,
      status: deliveryStatuses.toValue(delivery.status),
      attemptCount: delivery.attempts,
      statusCode: delivery.statusCode ?? 0,
      error: delivery.error ?? '',
    })),
    hasMoreDeliveries,
  };
}

/** An event of a resource, and its deliveries. */
interface ResourceEvent {
  readonly id: string;
  readonly type: string;
  /** Position in the feed of its tenant. */
  readonly position: bigint;
  readonly sequence: bigint;
  readonly requestId: string;
  /** Empty if the event was stored by a version that did not record it. */
  readonly actor: string;
  readonly createdAt: Date;
  /** Null after erasure. */
  readonly body: Buffer | null;
  /** At most {@link maxDeliveries}. */
  readonly deliveries: readonly DeliveryOfEvent[];
  readonly hasMoreDeliveries: boolean;
}

interface DeliveryOfEvent {
  readonly id: string;
  readonly webhookId: string;
  readonly status: LoggedStatus;
  readonly attempts: number;
  /** Status code of the last attempt; null if there was none. */
  readonly statusCode: number | null;
  readonly error: string | null;
}

interface ResourceEventPage {
  readonly events: ResourceEvent[];
  /** Whether there are older events. */
  readonly hasMore: boolean;
}

/** Maximum number of deliveries per event, because a workspace may have any number of webhooks. */
const maxDeliveries = 50;

interface EventRow extends Omit<ResourceEvent, 'position' | 'sequence' | 'deliveries' | 'hasMoreDeliveries'> {
  readonly workspaceId: string;
  readonly environment: string;
  readonly position: string;
  readonly sequence: string;
  readonly total: number;
}

/**
 * Reads a resource's events, newest first. Scans one index range for the events. Per event, it scans one primary
 * key range of the queue and one of the log. Everything is read from one snapshot, so that a delivery that moves from
 * the queue to the log appears exactly once. A page has fewer than `limit` events if their bodies would be too large
 * together.
 * @param before returns only events with a smaller ID
 */
function readResourceEvents(
  pool: Pool,
  scope: TenantScope,
  { resourceId, before, limit }: { resourceId: string; before: string | undefined; limit: number },
): Promise<ResourceEventPage> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    const values: unknown[] = [scope.workspaceId, scope.environments, resourceId, limit + 1];
    if (before !== undefined) values.push(before);
    const page = `
              select e.* from unnest($2::text[]) as scope (environment)
               cross join lateral (
                     select workspace_id as "workspaceId", environment, id, type, position, sequence,
                            request_id as "requestId", created_at as "createdAt", body, actor
                       from webhooks.events as e
                      where e.workspace_id = $1 and e.environment = scope.environment and e.resource_id = $3
                            ${before === undefined ? '' : 'and e.id < $5'}
                      order by e.id desc limit $4
                    ) as e
               order by e.id desc limit $4`;
    const found = await tx.query<EventRow>(
      `${firstWithin(page, 'id desc', String(pageBytes))} order by id desc`,
      values,
    );
    const rows = found.rows.slice(0, limit);
    const deliveries = await readDeliveriesOf(tx, rows);
    const hasMore = rows.length < (rows[0]?.total ?? 0);
    const events = rows.map((row) => {
      const all = deliveries.filter(({ eventId }) => eventId === row.id);
      return {
        ...row,
        position: BigInt(row.position),
        sequence: BigInt(row.sequence),
        deliveries: all.slice(0, maxDeliveries),
        hasMoreDeliveries: all.length > maxDeliveries,
      };
    });
    return { events, hasMore };
  });
}

/** Reads one delivery more per event than the page contains, to determine whether there are more. */
async function readDeliveriesOf(
  tx: Queryable,
  events: readonly Pick<EventRow, 'workspaceId' | 'environment' | 'id'>[],
): Promise<(DeliveryOfEvent & { eventId: string })[]> {
  if (events.length === 0) return [];
  const partOf = (source: 'deliveries' | 'delivery_log') => `
              select d.event_id, d.id, d.webhook_id, ${statusOf[source]} as status,
                     ${attemptCount} as attempts, ${lastAttempt} as last_attempt
                from webhooks.${source} as d where ${deliveriesOfEvent}`;
  const { rows } = await tx.query<DeliveryOfEvent & { eventId: string }>(
    `select d.event_id as "eventId", d.id, d.webhook_id as "webhookId", d.status,
            d.attempts, (d.last_attempt ->> 'status_code')::integer as "statusCode", d.last_attempt ->> 'error' as error
       from unnest($1::text[], $2::text[], $3::text[]) as e (workspace_id, environment, id)
      cross join lateral (
            select * from (${partOf('deliveries')}
              union all${partOf('delivery_log')}
            ) as d order by d.webhook_id limit ${maxDeliveries + 1}
           ) as d
      order by d.event_id desc, d.webhook_id`,
    [events.map((event) => event.workspaceId), events.map((event) => event.environment), events.map(({ id }) => id)],
  );
  return rows;
}
