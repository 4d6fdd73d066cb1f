import type { Queryable } from '@rms/postgres/db';
import { tenantsOf } from '../../tenants-of.ts';

/** The reason why a delivery has not ended yet. */
export type BacklogState =
  /** Leased for its first attempt, which may be running. */
  | 'in_flight'
  /** Can be leased by any instance with free capacity. */
  | 'due'
  /** Waiting for attempts in flight at this instance to end, because of a webhook limit or a shared limit. */
  | 'throttled'
  | 'circuit_open'
  /** Waiting until the webhook's limit per second allows another attempt. */
  | 'rate_limited'
  /** The webhook is paused or disabled, or no key decrypts its secret. */
  | 'paused'
  /** Waiting for the time of its next attempt, or the next attempt is running. */
  | 'retry'
  /** Waiting for an earlier delivery of the same resource to end. */
  | 'ordered';

/** The state of webhooks at this instance, as lists of webhook IDs. */
export interface WebhookStates {
  /** Webhooks with due deliveries that wait for attempts in flight at this instance to end. */
  readonly throttled: readonly string[];
  /** Webhooks with a secret that no key decrypts. */
  readonly unsignable: readonly string[];
}

/** Deliveries in the same state, as found by a query. */
export interface BacklogPart {
  readonly state: BacklogState;
  /** Estimated number of deliveries; 0 for the query that reads single deliveries. */
  readonly count: number;
  /**
   * The ten characters of the oldest delivery's ID that encode the time of its event. Null if only redeliveries and
   * replays were found.
   */
  readonly oldest: string | null;
  /** Age in seconds of the earliest due time; 0 if none is in the past. */
  readonly overdue: number;
}

/** Maximum number of pages that the sample reads. A queue of up to 2 MiB is read completely. */
const pagesSampled = 256;
/**
 * Redeliveries and replays have IDs with old times, so they come first in a tenant's ID order. At most this many rows
 * are read per tenant to find a regular delivery.
 */
const passedOver = 50;

const age = `min(substr(d.id, 5, 10)) filter (where d.origin = 'event')`;
const overdue = 'greatest(0, extract(epoch from now() - min(d.due_at)))::float8';

/** Expects the rows of deliveries as `d`, their webhooks as `w` and their endpoints as `e`. */
const state = `case when d.due_at is null then 'ordered'
                    when d.due_at > now() and d.tries = 0 then 'in_flight'
                    when d.due_at > now() then 'retry'
                    when w.status is distinct from 'active' or w.paused_at is not null
                      or d.webhook_id = any($2::text[]) then 'paused'
                    when e.pause_ms > 0 then 'circuit_open'
                    when e.not_before > now() and w.requests_per_second is not null then 'rate_limited'
                    when d.webhook_id = any($1::text[]) then 'throttled'
                    else 'due' end`;
const parents = `left join webhooks.webhooks as w
                   on w.workspace_id = d.workspace_id and w.environment = d.environment and w.id = d.webhook_id
                 left join webhooks.endpoints as e on e.webhook_id = d.webhook_id`;

/**
 * Reads the backlog by state. The cost depends on the number of tenants with a backlog, not on its length or on the
 * number of webhooks. It reads the oldest delivery of each tenant, the earliest due delivery of the webhooks that have
 * been due the longest and of open circuits, and sampled pages of the table. A small table is read completely. In a
 * large table, counts are estimates, and the reported oldest delivery of a state may be younger than the true one; the
 * oldest delivery overall is exact. Must run in a transaction.
 */
export async function readBacklog(tx: Queryable, states: WebhookStates): Promise<BacklogPart[]> {
  const values = [states.throttled, states.unsignable];
  // Forces index walks regardless of the statistics, as in leaseFor.
  await tx.query('set local enable_bitmapscan = off; set local enable_seqscan = off; set local enable_sort = off');
  await tx.query('set local statement_timeout = 5000');
  const first = await tx.query<BacklogPart>(firstOfEach, values);
  const { rows } = await tx.query<{ part: number }>(
    `select least(1, $1 * current_setting('block_size')::float8
                     / greatest(1, pg_relation_size('webhooks.deliveries'))) as part`,
    [pagesSampled],
  );
  const part = rows[0]?.part ?? 1;
  const sampled = await tx.query<BacklogPart>(sample, [...values, part * 100, part]);
  return [...first.rows, ...sampled.rows];
}

/** Maximum number of due webhooks, and of open circuits, with an earliest due delivery that is read. */
const webhooksRead = 1_000;

const firstOfEach = `
  with recursive ${tenantsOf('webhooks.deliveries')}, waiting (webhook_id) as (
    (select webhook_id from webhooks.endpoints where next_due_at <= now() order by next_due_at limit ${webhooksRead})
    union
    (select webhook_id from webhooks.endpoints where pause_ms > 0 order by pause_ms limit ${webhooksRead})
  ), met as (
    select first.*
      from tenants as t
     cross join lateral (
           select * from (
                  select workspace_id, environment, webhook_id, id, due_at, tries, origin from webhooks.deliveries as d
                   where d.workspace_id = t.workspace_id and d.environment = t.environment
                   order by d.id limit ${passedOver}) as few
            where origin = 'event' order by id limit 1) as first
    union all
    select first.*
      from waiting as p
     cross join lateral (
           select workspace_id, environment, webhook_id, id, due_at, tries, origin from webhooks.deliveries as d
            where d.webhook_id = p.webhook_id order by d.due_at limit 1) as first
  )
  select ${state} as state, 0::float8 as count, ${age} as oldest, ${overdue} as overdue
    from met as d ${parents} group by 1`;

const sample = `
  select ${state} as state, round(count(*) / $4::float8)::float8 as count, ${age} as oldest, ${overdue} as overdue
    from (select * from webhooks.deliveries tablesample system ($3)) as d ${parents}
   group by 1`;

/** Maximum number that {@link readHeld} counts, and of webhooks with a limit per second that it reads. */
const heldRead = 10_000;

/**
 * Numbers of webhooks with an open circuit, and of webhooks with due deliveries held by the limit per second. At most
 * 10,000 each.
 */
export interface HeldWebhooks {
  readonly circuit: number;
  readonly rateLimit: number;
}

/** Counts the webhooks with due deliveries held by a circuit or by their rate limit. */
export async function readHeld(db: Queryable): Promise<HeldWebhooks> {
  const { rows } = await db.query<HeldWebhooks>(`
    select (select count(*)::integer
              from (select from webhooks.endpoints where pause_ms > 0 limit ${heldRead}) as open) as circuit,
           (select count(*)::integer
              from (select id from webhooks.webhooks where requests_per_second is not null order by id limit ${heldRead}) as w
              join webhooks.endpoints as e on e.webhook_id = w.id
             where e.not_before > now() and e.pause_ms = 0
               and exists (select from webhooks.deliveries as d where d.webhook_id = e.webhook_id and d.due_at <= now()))
             as "rateLimit"`);
  return rows[0] ?? { circuit: 0, rateLimit: 0 };
}
