import type { Tenant } from '@rms/base/tenant';
import { type Statement, statementWith } from '@rms/postgres/db';
import { type DeliveryJob, type JobEvent, type JobRow, toJob } from '../engine/attempt/job.ts';
import { firstEventFrom } from '../engine/lease/lookups.ts';
import { leaseMarginMs, partOf } from '../engine/schedule/limits.ts';
import type { Capacity } from '../engine/schedule/scheduler.ts';
import { endpointColumns, selectedEndpointColumns } from '../webhook/webhook-queries.ts';

/**
 * Maximum number of deliveries that a statement creates. Bounds its duration, regardless of the number of webhooks of a
 * tenant.
 */
export const deliveriesPerStatement = 1_000;

/** Setting of a transaction with the feed positions of the events that it has stored, one per arrival. */
export const positionsSetting = 'rms.event_positions';

/** Stored events with missing deliveries, as one array per column. */
export interface Undelivered {
  /** Positions in the tenants' feeds; null: {@link positionsSetting} has them. Events with the position null are ignored. */
  readonly positions: readonly string[] | null;
  readonly workspaceIds: readonly string[];
  readonly environments: readonly string[];
  readonly ids: readonly string[];
  readonly types: readonly (string | null)[];
  readonly resourceIds: readonly (string | null)[];
  readonly sequences: readonly (string | bigint | null)[];
  readonly requestIds: readonly (string | null)[];
  /** The last webhooks with a delivery of the event; empty without any. */
  readonly afterWebhooks: readonly string[];
}

/** A number of events that fan-out has matched with a webhook. */
export interface MadeCount extends Tenant {
  readonly webhookId: string;
  readonly eventType: string;
  /** `skipped`: the webhook is disabled. `filtered`: its filter does not match, so there is no delivery. */
  readonly kind: 'created' | 'skipped' | 'filtered';
  readonly deliveries: number;
}

/** Counts what fan-out makes of events. */
export interface MadeCounter {
  countMade(made: readonly MadeCount[]): void;
}

/** The result of {@link creatingDeliveries}. */
export interface NewDeliveries {
  /** The deliveries that this instance has leased. */
  readonly jobs: DeliveryJob[];
  /** The webhooks with deliveries that are not leased and can be leased now. */
  readonly due: string[];
  /** IDs of the events that still lack deliveries. */
  readonly unfinished: string[];
  /** Numbers of deliveries, including skipped ones, and of {@link filtered} events. */
  readonly counts: readonly MadeCount[];
  /** Number of pairs of an event and a webhook with a filter that the event does not match. */
  readonly filtered: number;
}

/** The first row's columns; null in all others. */
interface FirstRow {
  due: string[] | null;
  unfinished: string[] | null;
  counts: MadeCount[] | null;
}

export type CreatedRow = FirstRow & (JobRow | { [column in keyof JobRow]: null });

const createDeliveries = statementWith(
  'deliveries-create',
  `
    with event as materialized (
      -- "*" does not include operational events.
      select *, row_number() over of_tenant as number,
             case when type like 'resource.%' then array['*', type] else array[type] end as wanted_by
        -- The planner reads the setting also where it is not set, or empty after an earlier transaction.
        from unnest(coalesce($positions::bigint[], nullif(current_setting('${positionsSetting}', true), '')::bigint[]),
                    $workspaceIds::text[], $environments::text[], $ids::text[], $types::text[], $resourceIds::text[],
                    $sequences::bigint[], $requestIds::text[], $afterWebhooks::text[])
          as e (position, workspace_id, environment, id, type, resource_id, sequence, request_id, after_webhook)
       where position is not null
      window of_tenant as (partition by workspace_id, environment order by position)
    ), sized as (
      -- How many webhooks the tenant has, up to the limit. Null: no deliveries now, or earlier events come first.
      select *, first_value(case when number > 1 or $limit::integer = 0 then null
                                 when exists (select from webhooks.deferred_events as d
                                               where d.workspace_id = event.workspace_id
                                                 and d.environment = event.environment
                                                 and d.position < event.position) then null
                                 else (select count(*)
                                         from (select from webhooks.webhooks as w
                                                where w.workspace_id = event.workspace_id
                                                  and w.environment = event.environment limit $limit) as few)
                            end) over (partition by workspace_id, environment order by position) as webhooks
        from event
    ), taken as materialized (
      -- By load, the events of a tenant stay in order, and the tenants share the limit.
      select *, webhooks is not null and (sum(webhooks) over by_load <= $limit or row_number() over by_load = 1)
                  as is_taken
        from sized
      window by_load as (order by webhooks * number nulls last, position rows unbounded preceding)
    ), progress as materialized (
      -- The last webhook that has a delivery after this statement. Null: all have one.
      select *, case when not is_taken then after_webhook
                     when webhooks = $limit then (
                       select w.id from webhooks.webhooks as w
                        where w.workspace_id = taken.workspace_id and w.environment = taken.environment
                          and w.id > after_webhook
                        order by w.id offset $limit - 1 limit 1) end as reached
        from taken
    ), unfinished as (
      insert into webhooks.deferred_events as d (workspace_id, environment, position, event_id, after_webhook)
      select workspace_id, environment, position, id, reached from progress where reached is not null
          on conflict (workspace_id, environment, position) do update set after_webhook = excluded.after_webhook
       where d.after_webhook < excluded.after_webhook
    ), finished as (
      delete from webhooks.deferred_events as d using progress as p
       where $positions::bigint[] is not null and p.reached is null
         and d.workspace_id = p.workspace_id and d.environment = p.environment and d.position = p.position
    ), described as materialized (
      -- The terms of an event, on which filters are evaluated. Null: the tenant has no filter. Empty: no event, so that no
      -- filter matches.
      select *, case when is_taken and exists (
                       select from webhooks.filters as f
                        where f.workspace_id = progress.workspace_id and f.environment = progress.environment)
                     then coalesce((select case when (e.workspace_id, e.environment) = (progress.workspace_id, progress.environment)
                                       then webhooks.filter_terms(e.body) end
                             from ${firstEventFrom('progress', 'workspace_id, environment, body', 'progress.id', 'progress.id')} as e), '')
                     end as terms
        from progress
    ), matched as (
      select 'dlv_' || substr(i.id, 5, 10) || substr(md5(i.id || '/' || w.id), 1, 16) as id,
             i.workspace_id, i.environment, i.id as event_id, i.type, i.resource_id, i.sequence, i.request_id,
             w.id as webhook_id, w.status, w.ordered, fit.passes,
             w.ordered and (
               row_number() over (partition by w.id, w.ordered, fit.passes, i.resource_id order by i.sequence) > 1
               or exists (select from webhooks.deliveries as d
                           where d.ordered and d.webhook_id = w.id and d.resource_id = i.resource_id)
             ) as waits,
             -- How many deliveries may be leased, and whether a due delivery may be leased now.
             case when e.pause_ms > 0 or w.paused_at is not null or w.requests_per_second is not null then 0
                  else coalesce(($freeOfWebhooks::jsonb ->> w.id)::integer,
                                least(${partOf('w.max_concurrency', '$rank', '$count')}, e.concurrency)) end as capacity,
             w.paused_at is null and coalesce(webhooks.pause_end(e.not_before) <= now(), true) as open, ${endpointColumns}
        from described as i
        join webhooks.webhooks as w
          on w.workspace_id = i.workspace_id and w.environment = i.environment and w.id > i.after_webhook
         and w.events && i.wanted_by
         -- An event about a webhook is not sent to that webhook.
         and w.id <> i.resource_id
        left join webhooks.endpoints as e on e.webhook_id = w.id
       cross join lateral (
             -- Evaluated once, because of the offset.
             select i.terms is null or coalesce((select i.terms @@ f.query[1] from webhooks.filters as f
                                                  where f.workspace_id = w.workspace_id and f.environment = w.environment
                                                    and f.webhook_id = w.id), true) as passes offset 0) as fit
       where i.is_taken and (i.reached is null or w.id <= i.reached) and i.type is not null
    ), chosen as (
      select *, not waits
                and row_number() over (order by waits or capacity = 0, event_id) <= $freeInTotal
                and row_number() over (partition by workspace_id order by waits or capacity = 0, event_id)
                    <= coalesce(($freeOfWorkspaces::jsonb ->> workspace_id)::integer, $freeOfOtherWorkspaces)
                and row_number() over (partition by webhook_id order by waits, event_id) <= capacity as leased
        from matched where status = 'active' and passes
    ), made as (
      insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                       sequence, request_id, ordered, lease, due_at)
      select workspace_id, environment, id, event_id, webhook_id, type, resource_id, sequence, request_id, ordered, 1,
             case when waits then null
                  when leased then now() + (timeout_ms + ${leaseMarginMs}) * interval '1 millisecond'
                  else now() end
        from chosen
    ), skipped as (
      insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                         request_id, status, end_reason, origin, attempts, created_at)
      select workspace_id, environment, id, event_id, webhook_id, type, resource_id, request_id, 'skipped',
             'webhook_disabled', 'event', '[]', now()
        from matched where status <> 'active' and passes
    )
    select case when row_number() over () = 1 then array(
             select distinct webhook_id from chosen where open and not waits and not leased) end as due,
           case when row_number() over () = 1 then array(
             select id from progress where reached is not null) end as unfinished,
           case when row_number() over () = 1 then (
             select json_agg(counted) from (
               select workspace_id as "workspaceId", environment, webhook_id as "webhookId", type as "eventType",
                      case when not passes then 'filtered' when status = 'active' then 'created' else 'skipped' end as kind, count(*) as deliveries
                 from matched group by 1, 2, 3, 4, 5) as counted) end as counts,
           c.workspace_id, c.environment, c.id, c.event_id, c.type as event_type, c.webhook_id, c.resource_id,
           c.request_id, c.ordered, 'event' as origin, 0 as tries, 1 as lease, ${selectedEndpointColumns('c')}
      from (select) as one left join chosen as c on c.leased`,
);

/**
 * Returns the statement that creates the next deliveries of stored events: one per matching webhook of the event's
 * tenant, up to `limit`. An event that matches more webhooks than remain is continued by a later
 * statement, after the webhooks with smaller IDs. Such events, and those that follow them in their feed, are in
 * webhooks.deferred_events until they have all deliveries. A tenant's events are handled in the order of its feed.
 *
 * Deliveries within the free capacity of this instance are leased. The lease makes each due when it ends. Capacity
 * ignores the budget of failing endpoints, which only `leaseFor` enforces. Other deliveries are due immediately,
 * except those that wait for an earlier delivery of their lane. For a disabled webhook, a `skipped` entry is logged.
 * An event that does not match a webhook's filter makes no delivery, and is counted.
 */
export function creatingDeliveries(
  events: Undelivered,
  { total, ofWorkspaces, ofOtherWorkspaces, ofWebhooks, part }: Capacity,
  limit = deliveriesPerStatement,
): Statement {
  return createDeliveries({
    ...events,
    limit,
    freeInTotal: total,
    freeOfWebhooks: jsonOf(ofWebhooks),
    freeOfWorkspaces: jsonOf(ofWorkspaces),
    freeOfOtherWorkspaces: ofOtherWorkspaces,
    ...part,
  });
}

function jsonOf(capacity: ReadonlyMap<string, number>): string {
  return JSON.stringify(Object.fromEntries(capacity));
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
  const { due, unfinished, counts } = rows[0] ?? {};
  const filtered = (counts ?? []).reduce(
    (sum, { kind, deliveries }) => sum + (kind === 'filtered' ? deliveries : 0),
    0,
  );
  return { jobs, due: due ?? [], unfinished: unfinished ?? [], counts: counts ?? [], filtered };
}
