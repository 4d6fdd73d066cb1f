import { inOneTrip, type Pool, type Queryable, type Statement } from '@rms/db';
import { firstEventFrom } from '../feed/event-by-id.ts';
import { endpointColumns, type JobRow, toEndpoint } from './endpoint-queries.ts';
import { type DeliveryJob, type DeliveryRef, leaseMs } from './job.ts';
import { jsonOfPlaces } from './places-json.ts';

/** What an attempt needs of its event. */
export interface JobEvent {
  readonly traceparent: string;
  readonly body: Buffer;
}

export function toJob(row: JobRow, { traceparent, body }: JobEvent, leasedAtMs: number): DeliveryJob {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    eventId: row.event_id,
    requestId: row.request_id,
    traceparent,
    body,
    webhookId: row.webhook_id,
    resourceId: row.resource_id,
    ordered: row.ordered,
    again: row.origin !== 'event',
    endpoint: toEndpoint(row),
    tries: row.tries,
    lease: row.lease,
    leasedAtMs,
  };
}

type DueRow = JobRow & { active: boolean };

export interface LeaseOptions {
  /** Deliveries at most. */
  readonly limit: number;
  /** Begins with the webhooks after this id, and ends with those up to it; empty: from the first on. */
  readonly after: string;
  /**
   * How many deliveries webhooks can take; 0: they are passed over. Others take their part of the batch, unless what is due
   * first is a retry: then they seem to fail.
   */
  readonly places: ReadonlyMap<string, number>;
  /** Workspaces that are passed over. */
  readonly fullWorkspaces: readonly string[];
}

export interface Leased {
  readonly jobs: DeliveryJob[];
  /** How many were leased: the jobs and the lost ones. */
  readonly leased: number;
  /** Those that cannot be attempted: the webhook is gone or disabled, or the body is erased. */
  readonly lost: JobRow[];
}

/** An endpoint that seems to fail gets one attempt, which says whether it does. */
const placesAtFailing = 1;

/** How many deliveries of one webhook a batch may hold: no webhook takes more than a quarter of it. */
function partOfBatch(limit: number): number {
  return Math.max(1, Math.floor(limit / 4));
}

/**
 * A commit of leases does not wait for the disk. A PostgreSQL that is killed right after it forgets them: what is in flight
 * then comes again.
 */
const notFlushed: Statement = { text: 'set local synchronous_commit = off' };

/**
 * Not flushed either. Planned by the average webhook, the whole backlog of a large one would be read and sorted for each
 * lease; the index has it in order.
 */
const byIndex: Statement = {
  text: `${notFlushed.text}; set local enable_bitmapscan = off; set local enable_seqscan = off; set local enable_sort = off`,
};

/** The deliveries that are due of the webhooks `pending`, as many of each as it has places, and $2 at most. */
const firstOfPending = `due as (
        select d.workspace_id, d.environment, d.id
          from pending as p
         cross join lateral (
               select workspace_id, environment, id from webhooks.deliveries
                where webhook_id = p.webhook_id and due_at <= now()
                order by due_at limit least(p.places, $2::integer) for update skip locked) as d
         where p.places > 0`;

/** The end of a statement that leases the deliveries of its `due`, for so many milliseconds. */
const leasing = (milliseconds: string) => `leased as (
        update webhooks.deliveries as d
           set due_at = now() + ${milliseconds} * interval '1 millisecond', lease = d.lease + 1
          from due
         where d.workspace_id = due.workspace_id and d.environment = due.environment and d.id = due.id
        returning d.workspace_id, d.environment, d.id, d.event_id, d.webhook_id, d.resource_id, d.request_id, d.ordered,
                  d.origin, d.tries, d.lease
      )
      select l.*, ${endpointColumns}, coalesce(w.status = 'active', false) as active
        from leased as l
        left join webhooks.webhooks as w
               on w.workspace_id = l.workspace_id and w.environment = l.environment and w.id = l.webhook_id`;

/**
 * Leases deliveries that are due: retries, redeliveries, and those whose instance died with its lease. It goes from webhook
 * to webhook, so that the backlog of one is never in front of another's, beginning after the one where the last batch has
 * ended, so that those at the end of the order get as much as those at its start; and passes over the rows that another
 * instance is leasing. Answers with the last webhook of which anything was leased as well; undefined: nothing was.
 */
export async function leaseDue(
  pool: Pool,
  { limit, after, places, fullWorkspaces }: LeaseOptions,
): Promise<Leased & { readonly last: string | undefined }> {
  const due: Statement = {
    name: 'deliveries-lease',
    text: `
      with recursive ahead (webhook_id, workspace_id, tries) as (
        (select webhook_id, workspace_id, tries from webhooks.deliveries where webhook_id > $3 order by webhook_id, due_at limit 1)
        union all
        select next.webhook_id, next.workspace_id, next.tries
          from ahead as p
         cross join lateral (
               select webhook_id, workspace_id, tries from webhooks.deliveries
                where webhook_id > p.webhook_id order by webhook_id, due_at limit 1) as next
      ), behind (webhook_id, workspace_id, tries) as (
        (select webhook_id, workspace_id, tries from webhooks.deliveries where webhook_id <= $3 order by webhook_id, due_at limit 1)
        union all
        select next.webhook_id, next.workspace_id, next.tries
          from behind as p
         cross join lateral (
               select webhook_id, workspace_id, tries from webhooks.deliveries
                where webhook_id > p.webhook_id and webhook_id <= $3 order by webhook_id, due_at limit 1) as next
      ), pending as (
        select webhook_id, coalesce(($4::jsonb ->> webhook_id)::integer, case tries when 0 then $2::integer else $7::integer end) as places
          from (select * from ahead union all select * from behind) as p
         where workspace_id <> all($5::text[])
      ), ${firstOfPending}
         limit $1
      ), ${leasing('$6')}`,
    values: [limit, partOfBatch(limit), after, jsonOfPlaces(places), fullWorkspaces, leaseMs, placesAtFailing],
  };
  const leasedAtMs = performance.now();
  const results = await inOneTrip(pool, [byIndex, due]);
  const rows: DueRow[] = results[1]?.rows ?? [];
  return { ...(await toLeased(pool, rows, leasedAtMs)), last: lastOf(rows, after) };
}

/** Leases the delivery that is due first of each of these webhooks, without a look at any other. */
export async function leaseFirstOf(pool: Pool, webhookIds: readonly string[]): Promise<Leased> {
  const first: Statement = {
    name: 'deliveries-lease-first',
    text: `
      with pending as (
        select webhook_id, $2::integer as places from unnest($1::text[]) as wanted (webhook_id)
      ), ${firstOfPending}
      ), ${leasing('$3')}`,
    values: [webhookIds, placesAtFailing, leaseMs],
  };
  const leasedAtMs = performance.now();
  const results = await inOneTrip(pool, [byIndex, first]);
  return toLeased(pool, results[1]?.rows ?? [], leasedAtMs);
}

/** Leases these deliveries, those of them that are due and that nobody is leasing. */
export async function leaseThese(pool: Pool, deliveries: readonly DeliveryRef[]): Promise<Leased> {
  const these: Statement = {
    name: 'deliveries-lease-these',
    text: `
      with due as (
        select d.workspace_id, d.environment, d.id
          from webhooks.deliveries as d
          join unnest($1::text[], $2::text[], $3::text[]) as wanted (workspace_id, environment, id)
            on d.workspace_id = wanted.workspace_id and d.environment = wanted.environment and d.id = wanted.id
         where d.due_at <= now()
           for update of d skip locked
      ), ${leasing('$4')}`,
    values: [
      deliveries.map(({ workspaceId }) => workspaceId),
      deliveries.map(({ environment }) => environment),
      deliveries.map(({ id }) => id),
      leaseMs,
    ],
  };
  const leasedAtMs = performance.now();
  const results = await inOneTrip(pool, [notFlushed, these]);
  return toLeased(pool, results[1]?.rows ?? [], leasedAtMs);
}

async function toLeased(pool: Pool, rows: readonly DueRow[], leasedAtMs: number): Promise<Leased> {
  const events = rows.length === 0 ? undefined : await readEvents(pool, rows);
  const jobs: DeliveryJob[] = [];
  const lost: JobRow[] = [];
  for (const row of rows) {
    const event = events?.get(row.event_id);
    if (row.active && event) jobs.push(toJob(row, event, leasedAtMs));
    else lost.push(row);
  }
  return { jobs, leased: rows.length, lost };
}

/** In the order of the walk: those up to `after` come last. Ids are ASCII, which sorts here as it does there. */
function lastOf(rows: readonly JobRow[], after: string): string | undefined {
  const ids = rows.map(({ webhook_id: id }) => id).sort();
  return ids.filter((id) => id <= after).at(-1) ?? ids.at(-1);
}

/** Events with bodies, by their ids. */
async function readEvents(db: Queryable, rows: readonly JobRow[]): Promise<Map<string, JobEvent>> {
  const ids = rows.map(({ event_id: id }) => id).sort();
  const { rows: events } = await db.query<JobEvent & { id: string }>({
    name: 'events-of-leases',
    text: `
      select e.id, e.traceparent, e.body
        from (select distinct * from unnest($1::text[], $2::text[], $3::text[])) as named (workspace_id, environment, id)
       cross join ${firstEventFrom('named', 'workspace_id, environment, id, traceparent, body', '$4', '$5')} as e
       where e.workspace_id = named.workspace_id and e.environment = named.environment and e.id = named.id
         and e.body is not null`,
    values: [
      rows.map((row) => row.workspace_id),
      rows.map((row) => row.environment),
      rows.map((row) => row.event_id),
      ids[0],
      ids.at(-1),
    ],
  });
  return new Map(events.map((event) => [event.id, event]));
}
