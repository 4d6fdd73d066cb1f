import type { Queryable } from '@rms/db';

/** What a delivery that has not ended is waiting for. */
export type BacklogState =
  /** An instance attempts it for the first time, or has leased it for that. */
  | 'in_flight'
  /** Nothing but an instance with room. */
  | 'due'
  /** Room at its webhook, which has as much under way as it may. */
  | 'throttled'
  | 'circuit_open'
  /** Its webhook is disabled, or no key opens the webhook's secret. */
  | 'paused'
  /** The time of its next attempt; or that is under way. */
  | 'retry'
  /** The end of an earlier delivery of its resource. */
  | 'ordered';

/** What is known here of webhooks, by their ids. */
export interface WebhookStates {
  readonly circuitOpen: readonly string[];
  readonly throttled: readonly string[];
  /** Those whose secret no key opens. */
  readonly unsignable: readonly string[];
}

/** One state of the backlog. */
export interface BacklogPart {
  readonly state: BacklogState;
  /** Deliveries, about; 0 if only single ones were met. */
  readonly count: number;
  /** Ten characters of a delivery's id, which tell when its event was made; null: only what is sent again was met. */
  readonly oldest: string | null;
  /** For how long an attempt has been due, in seconds; 0: it is not. */
  readonly overdue: number;
}

/** Pages that the sample reads at most; a queue of 2 MiB is read whole. */
const pagesSampled = 256;
/** Deliveries that are sent again come first in a tenant's order, with the ids of long ago: so many are passed over. */
const passedOver = 50;

const age = `min(substr(id, 5, 10)) filter (where origin = 'event')`;
const overdue = 'greatest(0, extract(epoch from now() - min(due_at)))::float8';

/** Of rows with webhook_id, due_at, tries and active. */
const state = `case when due_at is null then 'ordered'
                    when due_at > now() and tries = 0 then 'in_flight'
                    when due_at > now() then 'retry'
                    when not active or webhook_id = any($3::text[]) then 'paused'
                    when webhook_id = any($1::text[]) then 'circuit_open'
                    when webhook_id = any($2::text[]) then 'throttled'
                    else 'due' end`;
const active = (row: string) => `exists (select from webhooks.webhooks as w
                  where w.workspace_id = ${row}.workspace_id and w.environment = ${row}.environment
                    and w.id = ${row}.webhook_id and w.status = 'active') as active`;

/**
 * The backlog by state, at a cost that depends on how many tenants and webhooks have one, never on how long it is: the
 * oldest delivery of each tenant, the one of each webhook that has been due the longest, and a sample of the table's
 * pages. A small table is read whole. In a large one counts are estimates, and the oldest of a state may be younger than
 * the true one; the oldest of all never is. Runs in a transaction.
 */
export async function readBacklog(tx: Queryable, states: WebhookStates): Promise<BacklogPart[]> {
  const values = [states.circuitOpen, states.throttled, states.unsignable];
  // As in leaseDue: walks through indexes, whatever the statistics say.
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

/** The oldest delivery of each tenant, and the earliest due one of each webhook. */
const firstOfEach = `
  with recursive tenants (workspace_id, environment) as (
    (select workspace_id, environment from webhooks.deliveries order by workspace_id, environment limit 1)
    union all
    select next.workspace_id, next.environment
      from tenants as t
     cross join lateral (
           select workspace_id, environment from webhooks.deliveries
            where (workspace_id, environment) > (t.workspace_id, t.environment)
            order by workspace_id, environment limit 1) as next
  ), pending (webhook_id) as (
    (select webhook_id from webhooks.deliveries order by webhook_id limit 1)
    union all
    select next.webhook_id
      from pending as p
     cross join lateral (
           select webhook_id from webhooks.deliveries
            where webhook_id > p.webhook_id order by webhook_id limit 1) as next
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
      from pending as p
     cross join lateral (
           select workspace_id, environment, webhook_id, id, due_at, tries, origin from webhooks.deliveries as d
            where d.webhook_id = p.webhook_id order by d.due_at limit 1) as first
  )
  select ${state} as state, 0::float8 as count, ${age} as oldest, ${overdue} as overdue
    from (select met.*, ${active('met')} from met) as row group by 1`;

const sample = `
  select state, round(count(*) / $5::float8)::float8 as count, ${age} as oldest, ${overdue} as overdue
    from (select d.*, ${state} as state
            from (select *, ${active('s')}
                    from webhooks.deliveries as s tablesample system ($4)) as d) as row
   group by 1`;
