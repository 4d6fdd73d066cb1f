import type { MadeCount } from '../delivery/delivery-usage.ts';
import { type DeliveryJob, leaseMs } from '../engine/attempt/job.ts';
import { type JobEvent, type JobRow, toJob } from '../engine/lease/lease-queries.ts';
import { partOf } from '../engine/schedule/part.ts';
import type { Capacity } from '../engine/schedule/scheduler.ts';
import { endpointColumns } from '../webhook/endpoint-queries.ts';

/**
 * Maximum number of deliveries that a statement creates. Bounds its duration, regardless of the number of webhooks of a
 * tenant.
 */
export const deliveriesPerStatement = 1_000;

/** The first row's columns; null in all others. */
interface FirstRow {
  due: string[] | null;
  made: MadeCount[] | null;
}

export type CreatedRow = FirstRow & (JobRow | { [column in keyof JobRow]: null });

/** New deliveries of some events. */
export interface NewDeliveries {
  /** The deliveries that this instance has leased. */
  readonly jobs: DeliveryJob[];
  /** The webhooks with deliveries that are not leased and can be leased now. */
  readonly due: string[];
  /** Numbers of deliveries, including skipped ones. */
  readonly made: readonly MadeCount[];
}

/** The values of $1 to $7 of {@link deliveryCtes}. */
export function deliveryCteValues(capacity: Capacity): unknown[] {
  const { total, ofWorkspaces, ofOtherWorkspaces, ofWebhooks, part } = capacity;
  return [leaseMs, total, jsonOf(ofWebhooks), part.rank, jsonOf(ofWorkspaces), ofOtherWorkspaces, part.count];
}

function jsonOf(capacity: ReadonlyMap<string, number>): string {
  return JSON.stringify(Object.fromEntries(capacity));
}

/**
 * Returns CTEs that create a delivery per row of `incoming` (workspace_id, environment, id, type, resource_id,
 * sequence, request_id) and each webhook that matches, and a select that returns a {@link CreatedRow} per leased
 * delivery, and at least one row. Deliveries are leased up to the free capacity, unless the circuit of their webhook is
 * open, or the webhook has a limit per second, which only `leaseFor` enforces. Other deliveries are due immediately,
 * except those that wait for an earlier delivery of their lane. For a disabled webhook, a `skipped` entry is logged.
 * @param incoming the CTE's name
 * @param webhooks a condition on the webhooks `w` and the events `i`
 * @param firstColumns further columns of the first row, each as "name: expression"
 */
export function deliveryCtes(incoming: string, webhooks: string, firstColumns: Readonly<Record<string, string>> = {}) {
  const first = Object.entries({
    due: "(select coalesce(array_agg(distinct webhook_id), '{}') from chosen where open and not waits and not leased)",
    made: `(select json_agg(counted) from (
              select workspace_id as "workspaceId", environment, webhook_id as "webhookId", type as "eventType",
                     case when status = 'active' then 'created' else 'skipped' end as kind, count(*) as deliveries
                from matched group by 1, 2, 3, 4, 5) as counted)`,
    ...firstColumns,
  }).map(([name, expression]) => `case when row_number() over () = 1 then ${expression} end as ${name}`);
  return `matched as (
        select 'dlv_' || substr(i.id, 5, 10) || substr(md5(i.id || '/' || w.id), 1, 16) as id,
               i.workspace_id, i.environment, i.id as event_id, i.type, i.resource_id, i.sequence, i.request_id,
               w.id as webhook_id, w.status, w.ordered,
               w.ordered and (
                 row_number() over (partition by w.id, w.ordered, i.resource_id order by i.sequence) > 1
                 or exists (select from webhooks.deliveries as d
                             where d.ordered and d.webhook_id = w.id and d.resource_id = i.resource_id)
               ) as waits,
               -- How many deliveries may be leased, and whether a due delivery may be leased now.
               case when e.pause_ms > 0 or w.requests_per_second is not null then 0
                    else coalesce(($3::jsonb ->> w.id)::integer,
                                  least(${partOf('w.max_concurrency', '$4', '$7')}, e.concurrency)) end as capacity,
               coalesce(webhooks.pause_end(e.not_before) <= now(), true) as open, ${endpointColumns}
          from ${incoming} as i
          join webhooks.webhooks as w
            on w.workspace_id = i.workspace_id and w.environment = i.environment
           and (w.events @> array['*'] or w.events @> array[i.type])
          left join webhooks.endpoints as e on e.webhook_id = w.id
         where ${webhooks}
      ), chosen as (
        select *, not waits
                  and row_number() over (order by waits or capacity = 0, event_id) <= $2
                  and row_number() over (partition by workspace_id order by waits or capacity = 0, event_id)
                      <= coalesce(($5::jsonb ->> workspace_id)::integer, $6)
                  and row_number() over (partition by webhook_id order by waits, event_id) <= capacity as leased
          from matched where status = 'active'
      ), made as (
        insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                         sequence, request_id, ordered, lease, due_at)
        select workspace_id, environment, id, event_id, webhook_id, type, resource_id, sequence, request_id, ordered, 1,
               case when waits then null
                    when leased then now() + $1 * interval '1 millisecond'
                    else now() end
          from chosen
      ), skipped as (
        insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                           request_id, status, end_reason, origin, attempts, created_at)
        select workspace_id, environment, id, event_id, webhook_id, type, resource_id, request_id, 'skipped',
               'webhook_disabled', 'event', '[]', now()
          from matched where status <> 'active'
      )
      select ${first.join(', ')},
             c.workspace_id, c.environment, c.id, c.event_id, c.type as event_type, c.webhook_id, c.resource_id,
             c.request_id, c.ordered, 'event' as origin, 0 as tries, 1 as lease, c.url, c.secret_sealed, c.secret_version,
             c.previous_secret_sealed, c.previous_secret_until, c.client_certificate, c.client_key_sealed,
             c.max_retries, c.initial_delay_ms, c.max_delay_ms, c.retry_delays_ms, c.max_concurrency
        from (select) as one left join chosen as c on c.leased`;
}

/** @param events the events by ID. Leased deliveries of other events are not returned. */
export function toNewDeliveries(
  rows: readonly CreatedRow[],
  events: ReadonlyMap<string, JobEvent>,
  leasedAtMs: number,
): NewDeliveries {
  const jobs = rows.flatMap((row) => {
    const event = row.id === null ? undefined : events.get(row.event_id);
    return row.id === null || !event ? [] : toJob(row, event, leasedAtMs);
  });
  return { jobs, due: rows[0]?.due ?? [], made: rows[0]?.made ?? [] };
}
