import type { Queryable } from '@rms/db';
import type { Environment } from '../subscription/webhook.ts';
import { type AttemptResult, type DeliveryJob, leaseMs } from './job.ts';
import type { Settlement } from './settle.ts';

/** The columns of a delivery with its event and webhook, as jobs are made from them. */
export interface JobRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  event_id: string;
  request_id: string;
  traceparent: string;
  body: Buffer;
  webhook_id: string;
  url: string;
  secret_sealed: Buffer;
  secret_version: number;
  max_retries: number;
  initial_delay_ms: string;
  max_delay_ms: string;
  attempts: number;
  tries: number;
}

export function toJob(row: JobRow, leasedAtMs: number): DeliveryJob {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    eventId: row.event_id,
    requestId: row.request_id,
    traceparent: row.traceparent,
    body: row.body,
    webhookId: row.webhook_id,
    url: row.url,
    secretSealed: row.secret_sealed,
    secretVersion: row.secret_version,
    retryPolicy: {
      maxRetries: row.max_retries,
      initialDelayMs: Number(row.initial_delay_ms),
      maxDelayMs: Number(row.max_delay_ms),
    },
    attempts: row.attempts,
    tries: row.tries,
    leasedAtMs,
  };
}

/**
 * Leases up to `limit` deliveries that are due: retries, redeliveries, and those whose instance died with its lease. Rows
 * that another instance is leasing are passed over. A delivery whose webhook is gone or disabled, or whose body is
 * erased, fails here.
 */
export async function leaseDue(db: Queryable, limit: number): Promise<{ jobs: DeliveryJob[]; leased: number }> {
  const leasedAtMs = performance.now();
  const { rows } = await db.query<JobRow & { callable: boolean }>({
    name: 'deliveries-lease',
    text: `
      with due as (
        select workspace_id, environment, id from webhooks.deliveries
         where status = 'pending' and due_at <= now() order by due_at limit $1 for update skip locked
      ), leased as (
        update webhooks.deliveries as d
           set due_at = now() + $2 * interval '1 millisecond'
          from due
         where d.workspace_id = due.workspace_id and d.environment = due.environment and d.id = due.id
        returning d.*
      )
      select l.workspace_id, l.environment, l.id, l.event_id, l.request_id, e.traceparent, e.body, l.webhook_id, w.url,
             w.secret_sealed, w.secret_version, w.max_retries, w.initial_delay_ms, w.max_delay_ms, l.attempts, l.tries,
             coalesce(w.status = 'active' and e.body is not null, false) as callable
        from leased as l
        left join webhooks.events as e
               on e.workspace_id = l.workspace_id and e.environment = l.environment and e.id = l.event_id
        left join webhooks.webhooks as w
               on w.workspace_id = l.workspace_id and w.environment = l.environment and w.id = l.webhook_id`,
    values: [limit, leaseMs],
  });
  const lost = rows.filter(({ callable }) => !callable);
  if (lost.length > 0) await failDeliveries(db, lost);
  return { jobs: rows.filter(({ callable }) => callable).map((row) => toJob(row, leasedAtMs)), leased: rows.length };
}

async function failDeliveries(db: Queryable, rows: readonly JobRow[]): Promise<void> {
  await db.query(
    `update webhooks.deliveries as d set status = 'failed', due_at = null
       from unnest($1::text[], $2::text[], $3::text[]) as lost (workspace_id, environment, id)
      where d.workspace_id = lost.workspace_id and d.environment = lost.environment and d.id = lost.id
        and d.status = 'pending'`,
    [rows.map((row) => row.workspace_id), rows.map((row) => row.environment), rows.map((row) => row.id)],
  );
}

/** Gives deliveries back unattempted, due after a moment. */
export async function postpone(db: Queryable, jobs: readonly DeliveryJob[], delayMs: number): Promise<void> {
  await db.query({
    name: 'deliveries-postpone',
    text: `
      update webhooks.deliveries as d set due_at = now() + $4 * interval '1 millisecond'
        from unnest($1::text[], $2::text[], $3::text[]) as job (workspace_id, environment, id)
       where d.workspace_id = job.workspace_id and d.environment = job.environment and d.id = job.id
         and d.status = 'pending'`,
    values: [...keysOf(jobs), delayMs],
  });
}

/** An attempt to write down. */
export interface Recording {
  readonly job: DeliveryJob;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/** Writes many attempts and what follows from them in one statement. */
export async function recordAttempts(db: Queryable, recordings: readonly Recording[]): Promise<void> {
  await db.query({
    name: 'deliveries-record',
    text: `
      with done as (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::timestamptz[], $6::integer[],
                             $7::text[], $8::integer[], $9::bytea[], $10::text[], $11::float8[], $12::integer[])
            as done (workspace_id, environment, id, number, started_at, status_code, error, duration_ms, response_body,
                     status, due_in_ms, tries)
      ), logged as (
        insert into webhooks.attempts
        select workspace_id, environment, id, number, started_at, status_code, error, duration_ms, response_body
          from done
            on conflict do nothing
      )
      update webhooks.deliveries as d
         set status = done.status, attempts = greatest(d.attempts, done.number), tries = done.tries,
             due_at = now() + done.due_in_ms * interval '1 millisecond'
        from done
       where d.workspace_id = done.workspace_id and d.environment = done.environment and d.id = done.id`,
    values: [
      ...keysOf(recordings.map(({ job }) => job)),
      recordings.map(({ job }) => job.attempts + 1),
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

/** Ends all leases at once. Right only for an instance that has no other beside it. */
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
  ];
}
