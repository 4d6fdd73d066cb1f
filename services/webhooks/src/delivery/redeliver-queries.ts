import type { TenantScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { WebhookStatus } from '../webhook/webhook.ts';

/** How often a delivery can be sent again, by redeliveries and replays. */
export const maxRedeliveries = 100;

export interface Redeliverable {
  /** Null if the webhook is deleted. */
  readonly webhookStatus: WebhookStatus | null;
  readonly isTest: boolean;
  /** Whether the event has its body. */
  readonly hasBody: boolean;
  /** How often the delivery was sent again. */
  readonly redeliveries: number;
}

/**
 * SQL of the CTEs that move deliveries selected as `again` (workspace_id, environment, id) from the log to the queue.
 * `queued` has their IDs.
 */
export const requeue = (origin: string) => `
     taken as (
       delete from webhooks.delivery_log as d using again
        where d.workspace_id = again.workspace_id and d.environment = again.environment and d.id = again.id
       returning d.*
     ), queued as (
       insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, origin, attempts, attempt_count, last_attempt,
                                        redeliveries, lease, due_at, created_at)
       select workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, 0, request_id, ${origin},
              attempts, attempt_count, last_attempt, redeliveries + 1, lease + 1, now(), created_at
         from taken
       returning id
     )`;

/**
 * True for a delivery in the queue with an attempt in flight. Before its first attempt, a delivery is leased if and
 * only if it is due in the future. Before a later attempt, `leased_until` distinguishes a lease from a retry delay.
 */
export const isInFlight = 'coalesce(due_at > now() and (tries = 0 or leased_until > now()), false)';

/**
 * SQL assignments that redeliver a queued delivery. It becomes due immediately, or after the attempt in flight has
 * failed.
 */
export const makeDueColumns = `
            redeliveries = redeliveries + 1, redelivery_requested = ${isInFlight},
            tries = case when ${isInFlight} then tries else 0 end,
            due_at = case when ${isInFlight} then due_at else now() end`;

/**
 * Makes a delivery due immediately, with a full set of retries. If an attempt is in flight, the delivery becomes due
 * when that attempt fails. Changes nothing if the delivery is already due, or if a redelivery is already requested.
 */
export async function redeliver(tx: Queryable, scope: TenantScope, id: string): Promise<void> {
  const values = [scope.workspaceId, scope.environments, id];
  const { rowCount } = await tx.query(
    `update webhooks.deliveries
        set ${makeDueColumns},
            origin = 'redelivery', ordered = ordered and ${isInFlight}
      where workspace_id = $1 and environment = any($2) and id = $3 and redeliveries < ${maxRedeliveries}
        and not redelivery_requested and (due_at is null or due_at > now())`,
    values,
  );
  if (rowCount) return;
  await tx.query(
    `with again as (
       select workspace_id, environment, id from webhooks.delivery_log
        where workspace_id = $1 and environment = any($2) and id = $3 and redeliveries < ${maxRedeliveries}
     ),${requeue("'redelivery'")}
     select id from queued`,
    values,
  );
}
