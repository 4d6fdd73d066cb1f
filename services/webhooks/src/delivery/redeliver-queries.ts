/** How often a delivery can be sent again, by redeliveries and replays. */
export const maxRedeliveries = 100;

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
