/** The reason why a due delivery is not attempted. */
export type DelayReason = 'rate_limit' | 'circuit_open' | 'paused';

/** SQL join of the endpoint `e` of a delivery. Reads it only if the delivery is due. */
export const endpointIfDue = (webhookId: string, dueAt: string) => `
       left join lateral (
              select not_before, pause_ms, paused from webhooks.endpoints as own
               where own.webhook_id = ${webhookId} and ${dueAt} <= now() offset 0
            ) as e on true`;

/** SQL expression for the {@link DelayReason} of a delivery to endpoint `e`. Null: it is not delayed. */
export const delayReasonOf = (dueAt: string) =>
  `case when ${dueAt} <= now() and e.paused then 'paused'
                 when ${dueAt} <= now() and e.not_before > now()
                 then case when e.pause_ms > 0 then 'circuit_open' else 'rate_limit' end end`;

/** SQL columns of a delivery that is joined with {@link endpointIfDue}. */
export const delayColumns = (
  dueAt: string,
) => `case when e.paused is not true then greatest(${dueAt}, e.not_before) end as "nextAttemptAt",
            ${delayReasonOf(dueAt)} as "delayReason"`;
