import type { Queryable } from '@rms/db';
import type { Environment } from '../subscription/webhook.ts';
import { type AttemptResult, type DeliveryJob, leaseMs } from './job.ts';
import type { Settlement } from './settle.ts';

/** The columns of a delivery with its webhook, as jobs are made from them. */
export interface JobRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  event_id: string;
  webhook_id: string;
  url: string;
  secret_sealed: Buffer;
  secret_version: number;
  max_retries: number;
  initial_delay_ms: string;
  max_delay_ms: string;
  tries: number;
  lease: number;
}

/** What an attempt needs of its event. */
export type JobEvent = Pick<DeliveryJob, 'requestId' | 'traceparent' | 'body'>;

export function toJob(row: JobRow, { requestId, traceparent, body }: JobEvent, leasedAtMs: number): DeliveryJob {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    eventId: row.event_id,
    requestId,
    traceparent,
    body,
    webhookId: row.webhook_id,
    url: row.url,
    secretSealed: row.secret_sealed,
    secretVersion: row.secret_version,
    retryPolicy: {
      maxRetries: row.max_retries,
      initialDelayMs: Number(row.initial_delay_ms),
      maxDelayMs: Number(row.max_delay_ms),
    },
    tries: row.tries,
    lease: row.lease,
    leasedAtMs,
  };
}

interface DueRow extends JobRow {
  request_id: string;
  traceparent: string;
  body: Buffer;
  callable: boolean;
}

/**
 * Leases up to `limit` deliveries that are due: retries, redeliveries, and those whose instance died with its lease. It
 * goes from webhook to webhook, so that the backlog of one is never in front of another's, and passes over the webhooks
 * in `except` and the rows that another instance is leasing. A delivery whose webhook is gone or disabled, or whose body
 * is erased, fails here. Runs in a transaction of its own: planned by the average webhook, the whole backlog of a large one
 * would be read and sorted for each lease; the index has it in order.
 */
export async function leaseDue(
  tx: Queryable,
  limit: number,
  except: readonly string[],
): Promise<{ jobs: DeliveryJob[]; leased: number }> {
  await tx.query('set local enable_bitmapscan = off; set local enable_seqscan = off; set local enable_sort = off');
  const leasedAtMs = performance.now();
  const { rows } = await tx.query<DueRow>({
    name: 'deliveries-lease',
    text: `
      with recursive pending (webhook_id) as (
        (select webhook_id from webhooks.deliveries where status = 'pending' order by webhook_id limit 1)
        union all
        select (select d.webhook_id from webhooks.deliveries as d
                 where d.status = 'pending' and d.webhook_id > p.webhook_id order by d.webhook_id limit 1)
          from pending as p where p.webhook_id is not null
      ), due as (
        select d.workspace_id, d.environment, d.id
          from pending as p
         cross join lateral (
               select workspace_id, environment, id from webhooks.deliveries
                where status = 'pending' and webhook_id = p.webhook_id and due_at <= now()
                order by due_at limit greatest(1, $1::integer / 4) for update skip locked) as d
         where p.webhook_id <> all($2::text[])
         limit $1
      ), leased as (
        update webhooks.deliveries as d
           set due_at = now() + $3 * interval '1 millisecond', lease = d.lease + 1
          from due
         where d.workspace_id = due.workspace_id and d.environment = due.environment and d.id = due.id
        returning d.*
      )
      select l.workspace_id, l.environment, l.id, l.event_id, l.request_id, e.traceparent, e.body, l.webhook_id, w.url,
             w.secret_sealed, w.secret_version, w.max_retries, w.initial_delay_ms, w.max_delay_ms, l.tries, l.lease,
             coalesce(w.status = 'active' and e.body is not null, false) as callable
        from leased as l
        left join webhooks.events as e
               on e.workspace_id = l.workspace_id and e.environment = l.environment and e.id = l.event_id
        left join webhooks.webhooks as w
               on w.workspace_id = l.workspace_id and w.environment = l.environment and w.id = l.webhook_id`,
    values: [limit, except, leaseMs],
  });
  const lost = rows.filter(({ callable }) => !callable);
  if (lost.length > 0) await failDeliveries(tx, lost);
  const jobs = rows.flatMap((row) =>
    row.callable
      ? toJob(row, { requestId: row.request_id, traceparent: row.traceparent, body: row.body }, leasedAtMs)
      : [],
  );
  return { jobs, leased: rows.length };
}

async function failDeliveries(db: Queryable, rows: readonly JobRow[]): Promise<void> {
  await db.query(
    `update webhooks.deliveries as d set status = 'failed', due_at = null
       from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as lost (workspace_id, environment, id, lease)
      where d.workspace_id = lost.workspace_id and d.environment = lost.environment and d.id = lost.id
        and d.lease = lost.lease and d.status = 'pending'`,
    [
      rows.map((row) => row.workspace_id),
      rows.map((row) => row.environment),
      rows.map((row) => row.id),
      rows.map((row) => row.lease),
    ],
  );
}

/** Gives deliveries back unattempted; they are due at once, for whoever has room for them. */
export async function giveBack(db: Queryable, jobs: readonly DeliveryJob[]): Promise<void> {
  await db.query({
    name: 'deliveries-give-back',
    text: `
      update webhooks.deliveries as d set due_at = now()
        from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as job (workspace_id, environment, id, lease)
       where d.workspace_id = job.workspace_id and d.environment = job.environment and d.id = job.id
         and d.lease = job.lease and d.status = 'pending'`,
    values: keysOf(jobs),
  });
}

/** An attempt to write down. */
export interface Recording {
  readonly job: DeliveryJob;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/**
 * Writes many attempts and what follows from them, each statement for one attempt of each delivery. An attempt whose
 * lease is not the last one any more is logged and decides nothing; one that arrived is a success even if the delivery
 * was ended meanwhile.
 */
export async function recordAttempts(db: Queryable, recordings: readonly Recording[]): Promise<void> {
  let rest = recordings;
  while (rest.length > 0) {
    const batch = new Map<string, Recording>();
    const again: Recording[] = [];
    for (const recording of rest) {
      if (batch.has(recording.job.id)) again.push(recording);
      else batch.set(recording.job.id, recording);
    }
    await recordOneEach(db, [...batch.values()]);
    rest = again;
  }
}

const decides = "d.lease = done.lease and (d.status = 'pending' or done.status = 'delivered')";

async function recordOneEach(db: Queryable, recordings: readonly Recording[]): Promise<void> {
  await db.query({
    name: 'deliveries-record',
    text: `
      with done as (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::timestamptz[], $6::integer[],
                             $7::text[], $8::integer[], $9::bytea[], $10::text[], $11::float8[], $12::integer[])
            as done (workspace_id, environment, id, lease, started_at, status_code, error, duration_ms, response_body,
                     status, due_in_ms, tries)
      ), settled as (
        update webhooks.deliveries as d
           set attempts = d.attempts + 1,
               tries = case when ${decides} then done.tries else d.tries end,
               status = case when ${decides} then done.status else d.status end,
               due_at = case when ${decides} then now() + done.due_in_ms * interval '1 millisecond' else d.due_at end
          from done
         where d.workspace_id = done.workspace_id and d.environment = done.environment and d.id = done.id
        returning d.workspace_id, d.environment, d.id, d.attempts
      )
      insert into webhooks.attempts (workspace_id, environment, delivery_id, number, started_at, status_code, error,
                                     duration_ms, response_body)
      select workspace_id, environment, id, s.attempts, started_at, status_code, error, duration_ms, response_body
        from settled as s join done using (workspace_id, environment, id)`,
    values: [
      ...keysOf(recordings.map(({ job }) => job)),
      recordings.map(({ result }) => result.startedAt),
      recordings.map(({ result }) => result.statusCode),
      recordings.map(({ result }) => result.error),
      recordings.map(({ result }) => result.durationMs),
      recordings.map(({ result }) => result.responseBody),
      recordings.map(({ settlement }) => settlement.status),
      recordings.map(({ settlement }) => settlement.dueInMs ?? null),
      recordings.map(({ job }) => job.tries + 1),
    ],
  });
}

/** Ends the leases of first attempts at once. Right only for an instance that has no other beside it. */
export async function releaseLeases(db: Queryable): Promise<void> {
  await db.query(`
    update webhooks.deliveries set due_at = now()
     where status = 'pending' and due_at > now() and due_at <= now() + ${leaseMs} * interval '1 millisecond'
       and tries = 0`);
}

function keysOf(jobs: readonly DeliveryJob[]): unknown[] {
  return [
    jobs.map(({ workspaceId }) => workspaceId),
    jobs.map(({ environment }) => environment),
    jobs.map(({ id }) => id),
    jobs.map(({ lease }) => lease),
  ];
}
