import { inTransaction, type Pool, type Queryable } from '@rms/db';
import type { LoggedStatus } from '../log/log-filter.ts';
import { deliveriesOfEvent, statusOf } from '../log/log-queries.ts';
import type { WebhookScope } from '../subscription/webhook-queries.ts';

/** What has happened to a resource, and what webhooks were told of it. */
export interface ResourceEvent {
  readonly id: string;
  readonly type: string;
  /** In the feed of its tenant. */
  readonly position: bigint;
  readonly sequence: bigint;
  readonly requestId: string;
  readonly createdAt: Date;
  /** Null once erased. */
  readonly body: Buffer | null;
  /** {@link mostDeliveries} at most. */
  readonly deliveries: readonly DeliveryOfEvent[];
  readonly hasMoreDeliveries: boolean;
}

export interface DeliveryOfEvent {
  readonly id: string;
  readonly webhookId: string;
  readonly status: LoggedStatus;
  readonly attempts: number;
  /** Of the last attempt; null: there was none. */
  readonly statusCode: number | null;
  readonly error: string | null;
}

/** Of one event: a workspace may have any number of webhooks. */
const mostDeliveries = 50;

interface EventRow extends Omit<ResourceEvent, 'position' | 'sequence' | 'deliveries' | 'hasMoreDeliveries'> {
  readonly workspaceId: string;
  readonly environment: string;
  readonly position: string;
  readonly sequence: string;
}

/**
 * Events of a resource, newest first: one range of one index, and of each event's deliveries one range of the primary key of
 * the queue and of the log. From one snapshot: a delivery that goes from the one into the other is there once.
 * @param before only events with a smaller id
 */
export function readResourceEvents(
  pool: Pool,
  scope: WebhookScope,
  { resourceId, before, limit }: { resourceId: string; before: string | undefined; limit: number },
): Promise<ResourceEvent[]> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    const values: unknown[] = [scope.workspaceId, scope.environments, resourceId, limit];
    if (before !== undefined) values.push(before);
    const { rows } = await tx.query<EventRow>(
      `select e.* from unnest($2::text[]) as scope (environment)
        cross join lateral (
              select workspace_id as "workspaceId", environment, id, type, position, sequence, request_id as "requestId",
                     created_at as "createdAt", body
                from webhooks.events as e
               where e.workspace_id = $1 and e.environment = scope.environment and e.resource_id = $3
                     ${before === undefined ? '' : 'and e.id < $5'}
               order by e.id desc limit $4
             ) as e
        order by e.id desc limit $4`,
      values,
    );
    const deliveries = await readDeliveriesOf(tx, rows);
    return rows.map((row) => {
      const all = deliveries.filter(({ eventId }) => eventId === row.id);
      return {
        ...row,
        position: BigInt(row.position),
        sequence: BigInt(row.sequence),
        deliveries: all.slice(0, mostDeliveries),
        hasMoreDeliveries: all.length > mostDeliveries,
      };
    });
  });
}

/** One more of each event than are shown. */
async function readDeliveriesOf(
  tx: Queryable,
  events: readonly Pick<EventRow, 'workspaceId' | 'environment' | 'id'>[],
): Promise<(DeliveryOfEvent & { eventId: string })[]> {
  if (events.length === 0) return [];
  const partOf = (source: 'deliveries' | 'delivery_log') => `
              select d.event_id, d.id, d.webhook_id, ${statusOf[source]} as status, d.attempts
                from webhooks.${source} as d where ${deliveriesOfEvent}`;
  const { rows } = await tx.query<DeliveryOfEvent & { eventId: string }>(
    `select d.event_id as "eventId", d.id, d.webhook_id as "webhookId", d.status,
            jsonb_array_length(d.attempts) as attempts, (d.attempts -> -1 ->> 'status_code')::integer as "statusCode",
            d.attempts -> -1 ->> 'error' as error
       from unnest($1::text[], $2::text[], $3::text[]) as e (workspace_id, environment, id)
      cross join lateral (
            select * from (${partOf('deliveries')}
              union all${partOf('delivery_log')}
            ) as d order by d.webhook_id limit ${mostDeliveries + 1}
           ) as d
      order by d.event_id desc, d.webhook_id`,
    [events.map((event) => event.workspaceId), events.map((event) => event.environment), events.map(({ id }) => id)],
  );
  return rows;
}
