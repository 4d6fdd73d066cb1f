import type { Environment, Tenant } from '@rms/base/tenant';
import { inOneRoundTrip, type Pool, type Queryable, type Statement, statementWith } from '@rms/postgres/db';
import { timeoutLimits } from '../../webhook/webhook.ts';
import { endpointColumns } from '../../webhook/webhook-queries.ts';
import { type DeliveryJob, type JobEvent, type JobRow, toJob } from '../attempt/job.ts';
import { leaseMarginMs, limits, type Part, partOf } from '../schedule/limits.ts';
import type { Refill, Refilled } from '../schedule/scheduler.ts';
import { firstEventFrom, isDelivery } from './lookups.ts';

/** A deleted or disabled webhook with queued deliveries. */
export interface AbandonedWebhook extends Tenant {
  readonly id: string;
}

/** Result of {@link leaseFor}. */
export interface Leased {
  readonly jobs: DeliveryJob[];
  /** Leased deliveries that cannot be attempted, because the body of their event is erased. */
  readonly lost: JobRow[];
  readonly abandoned: AbandonedWebhook[];
  readonly results: Refilled[];
  /** IDs of the webhooks that have no result because another transaction has locked them. */
  readonly locked: string[];
}

interface EndpointResult {
  endpoint_id: string;
  endpoint_workspace: string;
  endpoint_environment: Environment;
  abandoned: boolean;
  pause_ms: number;
  concurrency: number | null;
  has_more: boolean;
}

type LeasedRow = EndpointResult & (JobRow | { [column in keyof JobRow]: null });

/** Setting of a transaction that contains the IDs of its locked webhooks. */
const lockedSetting = 'rms.locked_webhooks';

/**
 * Lease commits are not flushed to disk. If PostgreSQL is killed directly afterwards, it loses the lease, and the
 * deliveries in flight are sent again.
 *
 * Forces index scans: a plan for the average webhook would read and sort the whole backlog of a large webhook for every
 * lease, although the index has it in order.
 */
const settings: Statement = {
  text: `set local synchronous_commit = off; set local enable_bitmapscan = off; set local enable_seqscan = off;
         set local enable_sort = off`,
};

/** Locks webhooks, and stores the locked ones' IDs in {@link lockedSetting}. */
const lock = statementWith<{ webhookIds: string[] }>(
  'endpoints-lock',
  `
    select set_config('${lockedSetting}', coalesce(string_agg(webhook_id, ','), ''), true),
           array(select webhook_id from webhooks.endpoints where webhook_id = any($webhookIds::text[])) as existing
      from (select webhook_id from webhooks.endpoints where webhook_id = any($webhookIds::text[])
             order by webhook_id for no key update skip locked) as locked`,
);

/** See {@link leaseFor}. */
const leaseDue = statementWith<{ webhookIds: string[]; deliveries: number[]; isKnown: boolean[] } & Part>(
  'deliveries-lease',
  `
    with endpoint as materialized (
      select e.webhook_id, e.workspace_id, e.environment, e.pause_ms, e.not_before, e.concurrency,
             w.id is not null as exists, e.next_due_at <= now() as is_due,
             w.status = 'active' and w.paused_at is not null as paused,
             -- The deliveries that the circuit and the rate limit allow.
             case when w.status is distinct from 'active' or w.paused_at is not null or e.next_due_at > now() then 0
                  when e.pause_ms > 0 then least(1, rate.tokens)
                  else least(wanted.deliveries, case when not wanted.is_known then e.concurrency end, rate.tokens,
                             ${partOf('w.max_concurrency', '$rank', '$count')} * ${1 + limits.aheadPerAttempt}) end as deliveries,
             rate.begin_at, make_interval(secs => 1 / w.requests_per_second) as rate_interval,
             (w.timeout_ms + ${leaseMarginMs}) * interval '1 millisecond' as lease_time,
             w.status is distinct from 'active' and exists (
               select from webhooks.deliveries where webhook_id = e.webhook_id) as abandoned
        from unnest($webhookIds::text[], $deliveries::integer[], $isKnown::boolean[])
          as wanted (webhook_id, deliveries, is_known)
        join webhooks.endpoints as e on e.webhook_id = wanted.webhook_id
        left join webhooks.webhooks as w
          on w.workspace_id = e.workspace_id and w.environment = e.environment and w.id = e.webhook_id
       cross join lateral (select greatest(webhooks.pause_end(e.rate_at), now()) as begin_at) as begin
       cross join lateral (
             -- Attempts that may start now: up to rateToleranceMs before their time at the exact rate.
             select begin.begin_at,
                    case when w.requests_per_second is not null
                         then greatest(0, floor((extract(epoch from now() - begin.begin_at) + ${limits.rateToleranceMs} / 1000.0)
                                                * w.requests_per_second) + 1)::integer end as tokens) as rate
       where e.webhook_id = any(string_to_array(current_setting('${lockedSetting}'), ','))
    ), due as materialized (
      select d.*, endpoint.lease_time
        from endpoint
       cross join lateral (
             select workspace_id, environment, id, webhook_id from webhooks.deliveries
              where webhook_id = endpoint.webhook_id and due_at <= now()
              order by due_at limit endpoint.deliveries for update skip locked) as d
    ), leased as (
      update webhooks.deliveries as d
         set due_at = now() + due.lease_time, lease = d.lease + 1, leased_until = now() + due.lease_time
        from due
       where ${isDelivery('due')}
      returning d.workspace_id, d.environment, d.id, d.event_id, d.event_type, d.webhook_id, d.resource_id,
                d.request_id, d.ordered, d.origin, d.tries, d.lease
    ), next as materialized (
      -- \`rest\` is the first delivery after the leased ones, which are the earliest. If another transaction has locked
      -- one of the earliest, \`rest\` may be a leased delivery instead. Both are due already, and so is the webhook.
      select endpoint.*, least(rest.due_at, case when own.leased > 0 then now() + endpoint.lease_time end) as due_at,
             rate.rate_at,
             case when endpoint.pause_ms > 0 and own.leased > 0 then now() + endpoint.lease_time
                  when endpoint.pause_ms > 0 then webhooks.pause_end(endpoint.not_before)
                  else rate.rate_at - interval '${limits.rateToleranceMs} milliseconds' end as not_before_then
        from endpoint
       cross join lateral (select count(*) as leased from due where due.webhook_id = endpoint.webhook_id) as own
       cross join lateral (select endpoint.begin_at + own.leased * endpoint.rate_interval as rate_at) as rate
        left join lateral (
             select d.due_at from webhooks.deliveries as d
              where d.webhook_id = endpoint.webhook_id and d.due_at is not null
              order by d.due_at offset own.leased limit 1) as rest on true
    ), scheduled as (
      update webhooks.endpoints as e
         set next_due_at = case when next.abandoned then now() + interval '1 minute' -- while an instance ends its deliveries
                                when next.due_at is not null and next.paused is not true
                                then greatest(next.due_at, next.not_before_then) end,
             not_before = next.not_before_then, rate_at = next.rate_at, paused = coalesce(next.paused, false)
        from next
       where e.webhook_id = next.webhook_id and (next.exists or next.abandoned) and next.is_due
    ), removed as (
      delete from webhooks.endpoints as e using next
       where e.webhook_id = next.webhook_id and not next.exists and not next.abandoned
    )
    select next.webhook_id as endpoint_id, next.workspace_id as endpoint_workspace,
           next.environment as endpoint_environment, next.abandoned, next.pause_ms,
           next.concurrency,
           coalesce(next.pause_ms = 0 and next.rate_at is null and next.paused is not true and next.due_at <= now(), false)
             as has_more,
           l.*, ${endpointColumns}
      from next
      left join leased as l on l.webhook_id = next.webhook_id
      left join webhooks.webhooks as w
             on w.workspace_id = l.workspace_id and w.environment = l.environment and w.id = l.webhook_id`,
);

/**
 * Leases the earliest due deliveries of webhooks: retries, redeliveries, deliveries that fan-out did not lease, and
 * deliveries with leases that have expired because their instance died. Moves `next_due_at` of each webhook to the
 * earliest remaining `due_at`. An open circuit yields one delivery when its probe is due. The stored concurrency limit
 * applies to unknown endpoints only; a known one has its current limit in the scheduler. A webhook with a limit per
 * second is due when its next attempt is allowed (GCRA, with the database's clock). A paused webhook yields none, and is
 * not due until it is resumed.
 *
 * A separate statement locks the webhooks. The statement after it therefore sees every delivery that was stored before
 * the lock was granted; see `webhooks.schedule_deliveries()`. Webhooks that another transaction has locked have no
 * result, so that no tenant waits for another tenant's transaction.
 */
export async function leaseFor(pool: Pool, refills: readonly Refill[], part: Part): Promise<Leased> {
  const webhookIds = refills.map(({ webhookId }) => webhookId);
  const leasing = leaseDue({
    webhookIds,
    deliveries: refills.map(({ deliveries }) => deliveries),
    isKnown: refills.map(({ isKnown }) => isKnown),
    ...part,
  });
  const leasedAtMs = performance.now();
  const [, lockResult, leaseResult] = await inOneRoundTrip(pool, [settings, lock({ webhookIds }), leasing]);
  const leased = await toLeased(pool, leaseResult?.rows ?? [], leasedAtMs);
  const existing: string[] = lockResult?.rows[0]?.existing ?? [];
  const decided = new Set(leased.results.map(({ webhookId }) => webhookId));
  return { ...leased, locked: existing.filter((id) => !decided.has(id)) };
}

async function toLeased(pool: Pool, rows: readonly LeasedRow[], leasedAtMs: number): Promise<Omit<Leased, 'locked'>> {
  const leased = rows.filter((row): row is EndpointResult & JobRow => row.id !== null);
  const events = leased.length === 0 ? undefined : await readEvents(pool, leased);
  const jobs: DeliveryJob[] = [];
  const lost: JobRow[] = [];
  const results = new Map<string, Refilled>();
  const abandoned = new Map<string, AbandonedWebhook>();
  for (const row of rows) {
    const { endpoint_id: webhookId, pause_ms: pauseMs, concurrency, has_more: hasMore } = row;
    const count = (results.get(webhookId)?.leased ?? 0) + (row.id === null ? 0 : 1);
    const state = { pauseMs, concurrency: concurrency ?? undefined };
    results.set(webhookId, { webhookId, leased: count, hasMore, state });
    if (row.abandoned) {
      const { endpoint_workspace: workspaceId, endpoint_environment: environment } = row;
      abandoned.set(webhookId, { workspaceId, environment, id: webhookId });
    }
  }
  for (const row of leased) {
    const event = events?.get(row.event_id);
    if (event) jobs.push(toJob(row, event, leasedAtMs));
    else lost.push(row);
  }
  return { jobs, lost, abandoned: [...abandoned.values()], results: [...results.values()] };
}

const readJobEvents = statementWith(
  'events-of-leases',
  `
    select e.id, e.traceparent, coalesce(e.tracestate, '') as tracestate, e.body
      from (select distinct * from unnest($workspaceIds::text[], $environments::text[], $ids::text[]))
        as named (workspace_id, environment, id)
     cross join ${firstEventFrom('named', 'workspace_id, environment, id, traceparent, tracestate, body', '$first', '$last')} as e
     where e.workspace_id = named.workspace_id and e.environment = named.environment and e.id = named.id
       and e.body is not null`,
);

/** Reads the rows' events, by ID, except events with an erased body. */
async function readEvents(db: Queryable, rows: readonly JobRow[]): Promise<Map<string, JobEvent>> {
  const ids = rows.map(({ event_id: id }) => id).sort();
  const { rows: events } = await db.query<JobEvent & { id: string }>(
    readJobEvents({
      workspaceIds: rows.map((row) => row.workspace_id),
      environments: rows.map((row) => row.environment),
      ids: rows.map((row) => row.event_id),
      first: ids[0],
      last: ids.at(-1),
    }),
  );
  return new Map(events.map((event) => [event.id, event]));
}

/** Releases unattempted deliveries. They are due immediately, for any instance with capacity. */
export async function releaseUnattempted(db: Queryable, given: readonly DeliveryJob[]): Promise<void> {
  const jobs = [...given].sort((a, b) => (a.id < b.id ? -1 : 1));
  await db.query({
    name: 'deliveries-give-back',
    text: `
      update webhooks.deliveries as d set due_at = now(), leased_until = null
        from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as job (workspace_id, environment, id, lease)
       where ${isDelivery('job')} and d.lease = job.lease`,
    values: [
      jobs.map(({ workspaceId }) => workspaceId),
      jobs.map(({ environment }) => environment),
      jobs.map(({ id }) => id),
      jobs.map(({ lease }) => lease),
    ],
  });
}

/** Ends the leases of all first attempts immediately. Correct only if no other instance is running. */
export async function releaseLeases(db: Queryable): Promise<void> {
  await db.query(`
    update webhooks.deliveries set due_at = now(), leased_until = null
     where due_at > now() and due_at <= now() + ${leaseMarginMs + timeoutLimits.mostMs} * interval '1 millisecond' and tries = 0`);
}
