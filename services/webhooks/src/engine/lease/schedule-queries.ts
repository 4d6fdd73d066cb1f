import type { Queryable } from '@rms/postgres/db';
import { type Change, jittered } from '../schedule/endpoint.ts';
import type { EndpointRef } from '../schedule/entries.ts';
import type { Excluded } from '../schedule/scheduler.ts';
import { isDelivery } from './lookups.ts';

/** Due webhooks, and the time until the next webhook is due. */
export interface Due {
  /** In the order of their due times. */
  readonly webhooks: EndpointRef[];
  /** Milliseconds until the next webhook is due; undefined if no webhook is due later. */
  readonly nextMs: number | undefined;
}

/** Reads up to `limit` due webhooks, except those that cannot be leased now. */
export async function readDue(db: Queryable, { webhookIds, workspaceIds }: Excluded, limit: number): Promise<Due> {
  const { rows } = await db.query<EndpointRef & { nextMs: number | null; webhookId: string | null }>({
    name: 'endpoints-due',
    text: `
      with due as (
        select webhook_id, workspace_id, next_due_at from webhooks.endpoints
         where next_due_at <= now() and webhook_id <> all($1::text[]) and workspace_id <> all($2::text[])
         order by next_due_at limit $3
      )
      select due.webhook_id as "webhookId", due.workspace_id as "workspaceId", next.ms as "nextMs"
        from (select extract(epoch from min(next_due_at) - now())::float8 * 1000 as ms
                from webhooks.endpoints where next_due_at > now()) as next
        left join due on true
       order by due.next_due_at`,
    values: [webhookIds, workspaceIds, limit],
  });
  return { webhooks: rows.filter(({ webhookId }) => webhookId !== null), nextMs: rows[0]?.nextMs ?? undefined };
}

/** A change of an endpoint's state. */
export interface EndpointChange extends Change {
  readonly webhookId: string;
}

/**
 * Stores changes of endpoints. A webhook with a pausing circuit is due when the pause ends. A webhook with a circuit
 * that closes is due immediately.
 * @param jitter relative variation of pauses, in both directions
 */
export async function saveEndpoints(db: Queryable, changes: readonly EndpointChange[], jitter: number): Promise<void> {
  const merged = new Map<string, EndpointChange>();
  for (const change of changes) {
    const pauses = change.pauses || (change.pauseMs > 0 && merged.get(change.webhookId)?.pauses === true);
    merged.set(change.webhookId, { ...change, pauses });
  }
  const last = [...merged.values()];
  await db.query({
    name: 'endpoints-save',
    text: `
      with change as materialized (
        select * from unnest($1::text[], $2::integer[], $3::integer[], $4::float8[])
            as change (webhook_id, pause_ms, concurrency, due_in_ms)
      ), locked as materialized (
        select webhook_id from webhooks.endpoints
         where webhook_id in (select webhook_id from change) order by webhook_id for no key update
      )
      update webhooks.endpoints as e
         set pause_ms = change.pause_ms, concurrency = change.concurrency,
             open_since = case when change.pause_ms > 0 then coalesce(e.open_since, now()) end,
             not_before = case when change.due_in_ms is not null then now() + change.due_in_ms * interval '1 millisecond'
                               when e.pause_ms > 0 and change.pause_ms = 0 then null
                               else e.not_before end,
             next_due_at = case when change.due_in_ms is not null then now() + change.due_in_ms * interval '1 millisecond'
                                when e.pause_ms > 0 and change.pause_ms = 0 then now()
                                else e.next_due_at end
        from change, locked
       where e.webhook_id = change.webhook_id and locked.webhook_id = change.webhook_id`,
    values: [
      last.map(({ webhookId }) => webhookId),
      last.map(({ pauseMs }) => pauseMs),
      last.map(({ concurrency }) => concurrency ?? null),
      last.map(({ pauses, pauseMs }) => (pauses ? jittered(pauseMs, jitter) : null)),
    ],
  });
}

/**
 * Resets the stored circuit and limits of an endpoint, because its URL or its limits have changed, or its webhook has
 * been resumed, disabled or deleted. The webhook is due immediately. An instance keeps its own lower concurrency limit.
 */
export async function resetEndpoint(tx: Queryable, webhookId: string): Promise<void> {
  await tx.query(
    `update webhooks.endpoints set next_due_at = now(), not_before = null, pause_ms = 0, open_since = null,
            concurrency = null, rate_at = null, paused = false
      where webhook_id = $1`,
    [webhookId],
  );
}

/** Stops the schedule of an endpoint, because its webhook is paused. */
export async function pauseEndpoint(tx: Queryable, webhookId: string): Promise<void> {
  await tx.query('update webhooks.endpoints set paused = true, next_due_at = null where webhook_id = $1', [webhookId]);
}

/** Longest time until a first attempt, or until a lease's end: that of a postponed delivery, with a margin. */
const longestLease = "interval '65 minutes'";
/** Longest delay before a retry of webhook `w`, with its jitter: its policy, or Retry-After. */
const longestDelay = `make_interval(secs => 1.1 * greatest(
                86400, w.max_delay_ms / 1000.0, (select max(ms) / 1000.0 from unnest(w.retry_delays_ms) as ms)))`;
const hastenedPerStatement = 1_000;

/**
 * Repairs the schedule of `limit` endpoints after `after`, in the order of their IDs:
 *
 * - Makes endpoints of deleted webhooks due that have no due time, so that the next lease ends their deliveries and
 *   removes them.
 * - Makes deliveries due if their due time is further away than any delay: the database's clock has been set back
 *   since it was stored.
 * - Makes endpoints due if their due time is later than that of their first delivery, for the same reason.
 *
 * Returns the last ID; undefined if there are no more.
 */
export async function repairSchedule(db: Queryable, after: string, limit: number): Promise<string | undefined> {
  const { rows } = await db.query<{ last: string | null }>(
    `with page as materialized (
       select webhook_id, workspace_id, environment, next_due_at from webhooks.endpoints
        where webhook_id > $1 order by webhook_id limit $2
     ), far as materialized (
       select page.webhook_id, ${longestDelay} as longest_delay
         from page
         left join lateral (
              select max_delay_ms, retry_delays_ms from webhooks.webhooks
               where workspace_id = page.workspace_id and environment = page.environment and id = page.webhook_id
               limit 1) as w on true
        where page.next_due_at > now() + interval '2 minutes'
     ), impossible as materialized (
       select d.*
         from far
        cross join lateral (
              select workspace_id, environment, id from webhooks.deliveries
               where webhook_id = far.webhook_id and due_at > now() + ${longestLease}
                 and due_at > now() + case when tries = 0 or leased_until is not null then ${longestLease}
                                           else far.longest_delay end
               order by due_at desc limit ${hastenedPerStatement}) as d
        limit ${hastenedPerStatement}
     ), hastened as (
       update webhooks.deliveries as d set due_at = now(), leased_until = null
         from impossible where ${isDelivery('impossible')}
     ), due as materialized (
       select e.webhook_id, greatest(first.due_at, webhooks.pause_end(e.not_before)) as due_at
         from webhooks.endpoints as e
        cross join lateral (
              select due_at from webhooks.deliveries
               where webhook_id = e.webhook_id and due_at is not null order by due_at limit 1) as first
        where e.webhook_id = any(array(select webhook_id from far))
          and e.next_due_at > greatest(first.due_at, webhooks.pause_end(e.not_before))
        order by e.webhook_id for no key update of e skip locked
     ), orphan as materialized (
       select e.webhook_id, now() as due_at
         from webhooks.endpoints as e
        where e.webhook_id = any(array(select webhook_id from page where next_due_at is null))
          and e.next_due_at is null
          and not exists (select from webhooks.webhooks as w
                           where w.workspace_id = e.workspace_id and w.environment = e.environment
                             and w.id = e.webhook_id)
        order by e.webhook_id for no key update of e skip locked
     ), woken as (
       update webhooks.endpoints as e set next_due_at = found.due_at
         from (select * from due union all select * from orphan) as found
        where e.webhook_id = found.webhook_id
     )
     select max(webhook_id) as last from page having count(*) = $2`,
    [after, limit],
  );
  return rows[0]?.last ?? undefined;
}
