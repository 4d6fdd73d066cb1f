import type { Queryable } from '@rms/db';
import { firstEventFrom } from '../feed/event-by-id.ts';
import { endpointColumns, type JobRow, toEndpoint } from './endpoint-queries.ts';
import { type DeliveryJob, leaseMs } from './job.ts';

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
    endpoint: toEndpoint(row),
    tries: row.tries,
    lease: row.lease,
    leasedAtMs,
  };
}

type DueRow = JobRow & { active: boolean };

/**
 * Leases up to `limit` deliveries that are due: retries, redeliveries, and those whose instance died with its lease. It
 * goes from webhook to webhook, so that the backlog of one is never in front of another's, and passes over the webhooks
 * in `except` and the rows that another instance is leasing. Answers with how many were leased, the jobs among them, and
 * those that cannot be attempted: the webhook is gone or disabled, or the body is erased. Runs in a transaction of its
 * own: planned by the average webhook, the whole backlog of a large one would be read and sorted for each lease; the index
 * has it in order.
 */
export async function leaseDue(
  tx: Queryable,
  limit: number,
  except: readonly string[],
): Promise<{ jobs: DeliveryJob[]; leased: number; lost: JobRow[] }> {
  await tx.query('set local enable_bitmapscan = off; set local enable_seqscan = off; set local enable_sort = off');
  const leasedAtMs = performance.now();
  const { rows } = await tx.query<DueRow>({
    name: 'deliveries-lease',
    text: `
      with recursive pending (webhook_id) as (
        (select webhook_id from webhooks.deliveries order by webhook_id limit 1)
        union all
        select (select d.webhook_id from webhooks.deliveries as d
                 where d.webhook_id > p.webhook_id order by d.webhook_id limit 1)
          from pending as p where p.webhook_id is not null
      ), due as (
        select d.workspace_id, d.environment, d.id
          from pending as p
         cross join lateral (
               select workspace_id, environment, id from webhooks.deliveries
                where webhook_id = p.webhook_id and due_at <= now()
                order by due_at limit greatest(1, $1::integer / 4) for update skip locked) as d
         where p.webhook_id <> all($2::text[])
         limit $1
      ), leased as (
        update webhooks.deliveries as d
           set due_at = now() + $3 * interval '1 millisecond', lease = d.lease + 1
          from due
         where d.workspace_id = due.workspace_id and d.environment = due.environment and d.id = due.id
        returning d.workspace_id, d.environment, d.id, d.event_id, d.webhook_id, d.resource_id, d.request_id, d.ordered,
                  d.tries, d.lease
      )
      select l.*, ${endpointColumns}, coalesce(w.status = 'active', false) as active
        from leased as l
        left join webhooks.webhooks as w
               on w.workspace_id = l.workspace_id and w.environment = l.environment and w.id = l.webhook_id`,
    values: [limit, except, leaseMs],
  });
  const events = rows.length === 0 ? undefined : await readEvents(tx, rows);
  const jobs: DeliveryJob[] = [];
  const lost: JobRow[] = [];
  for (const row of rows) {
    const event = events?.get(row.event_id);
    if (row.active && event) jobs.push(toJob(row, event, leasedAtMs));
    else lost.push(row);
  }
  return { jobs, leased: rows.length, lost };
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

/** Gives deliveries back unattempted; they are due at once, for whoever has room for them. */
export async function giveBack(db: Queryable, jobs: readonly DeliveryJob[]): Promise<void> {
  await db.query({
    name: 'deliveries-give-back',
    text: `
      update webhooks.deliveries as d set due_at = now()
        from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as job (workspace_id, environment, id, lease)
       where d.workspace_id = job.workspace_id and d.environment = job.environment and d.id = job.id
         and d.lease = job.lease`,
    values: [
      jobs.map(({ workspaceId }) => workspaceId),
      jobs.map(({ environment }) => environment),
      jobs.map(({ id }) => id),
      jobs.map(({ lease }) => lease),
    ],
  });
}

/** Ends the leases of first attempts at once. Right only for an instance that has no other beside it. */
export async function releaseLeases(db: Queryable): Promise<void> {
  await db.query(`
    update webhooks.deliveries set due_at = now()
     where due_at > now() and due_at <= now() + ${leaseMs} * interval '1 millisecond' and tries = 0`);
}

/**
 * Lets the first delivery of each lane go of which nothing is under way any more. The end of a delivery frees the next one
 * itself; this finds those that came while it ended.
 */
export async function freeLanes(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(`
    update webhooks.deliveries as d set due_at = now()
     where d.due_at is null
       and not exists (
             select from webhooks.deliveries as other
              where other.ordered and other.webhook_id = d.webhook_id and other.resource_id = d.resource_id
                and (other.due_at is not null or (other.sequence, other.id) < (d.sequence, d.id)))`);
  return rowCount ?? 0;
}
