import { abortableDelay, coalesce } from '@rms/async';
import { isOperational } from '@rms/base/webhook-events';
import { inTransaction, isolateRejected, type Pool, type Queryable, statementWith } from '@rms/postgres/db';
import { queueEvents } from '@rms/postgres/operational-events';
import type { Logger } from '@rms/runtime/logging';
import type { AttemptResult, DeliveryJob, Settlement } from '../attempt/job.ts';
import { isDelivery } from '../lease/lookups.ts';
import { freed, logged } from './end-queries.ts';
import { type EndedDelivery, failedEvent } from './failed-event.ts';
import { toAttemptJson } from './logged-attempt.ts';

/** An attempt to record. */
export interface Recording {
  readonly job: DeliveryJob;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/** Maximum number of batches that are written concurrently, each on its own connection. */
export const recordingsInFlight = 2;

/** Records attempt results in batches, and retries during database outages of any length. */
export interface Recorder {
  /**
   * Resolves when the result is stored. Rejects if the recorder has stopped, or if PostgreSQL rejects this result. A
   * delivery with a rejected result is attempted again, with increasing delays.
   */
  record(recording: Recording): Promise<void>;
  /** Returns whether results are waiting because they could not be written. */
  behind(): boolean;
  /** Returns how many results are waiting. */
  waiting(): number;
  /** Resolves when no results are waiting, or when the recorder has stopped. */
  caughtUp(): Promise<void>;
  /** Stops retrying. The attempts of unrecorded results are repeated after their leases expire. */
  stop(): void;
}

export interface RecorderParts {
  readonly pool: Pool;
  readonly log: Logger;
  /**
   * Called with the webhooks of deliveries that became due, because a redelivery was requested or because their
   * predecessors in the lane ended.
   */
  readonly onFreed: (webhookIds: string[]) => void;
  /** Count results after they are stored. */
  readonly counters: readonly AttemptCounter[];
}

/** Counts attempt results. */
export interface AttemptCounter {
  count(recordings: readonly Recording[]): void;
}

const retryMs = 500;
/** A workspace is in at most one batch at a time, so that it cannot occupy all of them. */
const batches = {
  maxBatch: 500,
  maxBytes: 1024 * 1024,
  maxInFlight: recordingsInFlight,
  isExclusive: true,
  // The engine limits the attempts in flight.
  maxWaiting: Number.POSITIVE_INFINITY,
};
/** Maximum size of the stored attempts of a delivery; webhooks.kept_attempts() bounds it. */
const storedBytes = 256 * 1024;

/**
 * Creates a recorder. It retries a result even after the lease has expired: no other instance can lease the delivery
 * while the database is down. If another instance leases it later, the result is only logged.
 */
export function createRecorder({ pool, log, onFreed, counters }: RecorderParts): Recorder {
  const stopped = new AbortController();
  const waiting = new Set<Recording>();
  const wakers: (() => void)[] = [];

  const recordNow = async (recordings: readonly Recording[]) => {
    const { freed, notEnded } = recordings.some(mayExhaust)
      ? await inTransaction(pool, (tx) => recordAttempts(tx, recordings))
      : await recordAttempts(pool, recordings);
    const counted = notEnded.size === 0 ? recordings : recordings.map((one) => asCounted(one, notEnded));
    for (const counter of counters) counter.count(counted);
    if (freed.length > 0) onFreed(freed);
  };

  /**
   * Stores the results that PostgreSQL accepts. A rejected one is stored without the endpoint's response. If that is
   * rejected as well, the delivery is postponed. Returns the error of each result that is not stored.
   */
  const write = coalesce(
    async (recordings: Recording[]) => {
      const unstored = new Map<Recording, unknown>();
      for (const { row, error: err } of await isolateRejected(recordings, recordNow)) {
        const [rejected] = await isolateRejected([withoutResponse(row)], recordNow);
        if (rejected) {
          await isolateRejected([row], () => postponeUnrecorded(pool, row));
          unstored.set(row, rejected.error);
        } else {
          log.error(
            { err, delivery_id: row.job.id },
            'endpoint response rejected by the database; attempt recorded without it',
          );
        }
      }
      return recordings.map((recording) => unstored.get(recording));
    },
    { tenantOf: ({ job }) => job.workspaceId, bytesOf: writtenBytes, ...batches },
  );

  /** Returns the error for a result that PostgreSQL rejects; undefined if it is stored. */
  const writeUntilDone = async (recording: Recording): Promise<unknown> => {
    for (;;) {
      try {
        return await write(recording);
      } catch (err) {
        if (stopped.signal.aborted) throw err;
        if (waiting.size === 0) log.warn({ err }, 'attempt results could not be recorded; retrying');
        waiting.add(recording);
        await abortableDelay(retryMs, stopped.signal);
      }
    }
  };

  return {
    async record(recording) {
      try {
        const error = await writeUntilDone(recording);
        if (error !== undefined) throw error;
      } finally {
        waiting.delete(recording);
        if (waiting.size === 0) for (const wake of wakers.splice(0)) wake();
      }
    },
    behind: () => waiting.size > 0,
    waiting: () => waiting.size,
    caughtUp: () =>
      waiting.size === 0 || stopped.signal.aborted
        ? Promise.resolve()
        : new Promise((resolve) => {
            wakers.push(resolve);
          }),
    stop: () => stopped.abort(),
  };
}

/**
 * Estimates how many bytes a recording writes. A delivery's attempts are one value, so each recording also
 * rewrites the earlier attempts.
 */
function writtenBytes({ job, result }: Recording): number {
  const headers = [...result.requestHeaders, ...result.responseHeaders];
  const own = headers.reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    result.responseBody.length + 512,
  );
  return own + Math.min(own * job.tries, storedBytes);
}

/** Returns a recording for the counts: a failed attempt that did not end its delivery counts as no failed delivery. */
function asCounted(recording: Recording, notEnded: ReadonlySet<string>): Recording {
  const { job, settlement } = recording;
  if (settlement.status !== 'failed' || !notEnded.has(job.id)) return recording;
  return { ...recording, settlement: { status: 'pending', dueInMs: undefined } };
}

function withoutResponse({ job, result, settlement }: Recording): Recording {
  return { job, settlement, result: { ...result, responseHeaders: [], responseBody: Buffer.alloc(0) } };
}

/** Effects of recorded attempts on their deliveries and on deliveries that waited for them. */
export interface Recorded {
  /**
   * Webhooks with deliveries that became due, because a redelivery was requested or because their predecessors in the
   * lane ended.
   */
  readonly freed: string[];
  /**
   * IDs of the deliveries that a last, failed attempt did not end: they had ended for another reason, for example a
   * cancellation, or continue because of a redelivery or another lease.
   */
  readonly notEnded: ReadonlySet<string>;
}

/**
 * Records attempts and their consequences. Each statement contains at most one attempt per delivery. A delivery that
 * ends moves from the queue to the log. An attempt with an outdated lease is logged but has no other effect,
 * unless it was successful: then the delivery counts as delivered. Recording an attempt a second time has no effect. If
 * a redelivery was requested during an attempt that failed, the delivery leaves its lane and becomes due.
 *
 * Queues an event per ended delivery that {@link mayExhaust}.
 * @param db a transaction, if a delivery {@link mayExhaust}
 */
export async function recordAttempts(db: Queryable, recordings: readonly Recording[]): Promise<Recorded> {
  const freed = new Set<string>();
  const notEnded = new Set<string>();
  let rest = recordings;
  while (rest.length > 0) {
    const batch = new Map<string, Recording>();
    const again: Recording[] = [];
    for (const recording of rest) {
      if (batch.has(recording.job.id)) again.push(recording);
      else batch.set(recording.job.id, recording);
    }
    // All transactions lock deliveries in ID order, so that they cannot deadlock.
    const inOrder = [...batch.values()].sort((a, b) => (a.job.id < b.job.id ? -1 : 1));
    const { rows } = await db.query<RecordedRow>(recordEach(valuesOf(inOrder)));
    const exhausted = rows.flatMap(({ id, ended }) => {
      const recording = batch.get(id);
      return ended && recording && mayExhaust(recording) ? failedEvent(recording.job, recording.result, ended) : [];
    });
    await queueEvents(db, 'webhooks', exhausted);
    const decided = new Set(rows.flatMap(({ id, effect }) => (effect === 'due' ? [] : id)));
    const late = inOrder.filter(({ job }) => !decided.has(job.id));
    if (late.length > 0) {
      const { rows: others } = await db.query<{ id: string }>(recordOutdated(valuesOf(late)));
      for (const { id } of others) notEnded.add(id);
    }
    for (const { id, webhookId, effect } of rows) {
      if (effect === 'due') freed.add(webhookId);
      if (effect === 'retried') notEnded.add(id);
    }
    rest = again;
  }
  return { freed: [...freed], notEnded };
}

/**
 * Whether an attempt may use up the retries of its delivery, which is reported as delivery.failed. Deliveries of
 * operational events are not reported, so that a failing webhook that receives such events causes no further ones.
 */
function mayExhaust({ job, settlement }: Recording): boolean {
  return settlement.endReason === 'retries_exhausted' && !isOperational(job.eventType);
}

const sameDelivery = isDelivery('done');
/** For the log: its partitions are found by equality. */
const sameLogged = 'd.workspace_id = done.workspace_id and d.environment = done.environment and d.id = done.id';
/** False if an earlier execution of the statement was committed although its connection broke. */
const isNew = 'not d.attempts @> jsonb_build_array(done.attempt)';
/** The columns that contain the attempts, and their values after the attempt is added. */
const recorded = 'attempts, attempt_count, last_attempt';
const withAttempt = 'select added.* from webhooks.add_attempt(d.attempts, done.attempt) as added';

/** A delivery that its attempt ended, a delivery that will be attempted again, or a delivery that became due. */
interface RecordedRow {
  readonly id: string;
  readonly webhookId: string;
  readonly effect: 'ended' | 'retried' | 'due';
  /** Set if the attempt ended the delivery. */
  readonly ended: EndedDelivery | null;
}

/** Returns the deliveries with effective attempts, and the deliveries that became due as a result. */
const recordEach = statementWith<Values>(
  'deliveries-record',
  `
    with done as (
      select * from unnest($workspaceIds::text[], $environments::text[], $ids::text[], $leases::integer[],
                           $attempts::jsonb[], $statuses::text[], $dueInMs::float8[], $tries::integer[],
                           $endReasons::text[])
          as done (workspace_id, environment, id, lease, attempt, status, due_in_ms, tries, end_reason)
    ), ended as (
      delete from webhooks.deliveries as d using done
       where ${sameDelivery} and ${isNew}
         and (done.status = 'delivered'
              or (done.status = 'failed' and d.lease = done.lease and not d.redelivery_requested))
      returning d.*, done.status, done.end_reason, webhooks.add_attempt(d.attempts, done.attempt) as all_attempts
    ), retried as (
      update webhooks.deliveries as d
         set (${recorded}) = (${withAttempt}), leased_until = null, redelivery_requested = false,
             ordered = d.ordered and not d.redelivery_requested,
             tries = case when d.redelivery_requested then 0 else done.tries end,
             due_at = case when d.redelivery_requested then now()
                           else now() + done.due_in_ms * interval '1 millisecond' end
        from done
       where ${sameDelivery} and d.lease = done.lease and ${isNew}
         and (done.status = 'pending' or (done.status = 'failed' and d.redelivery_requested))
      returning d.id, d.webhook_id, d.due_at <= now() as is_due
    ), logged as (${logged('status', 'end_reason', '(all_attempts).*, redeliveries')}
    ), freed as (${freed}
      returning d.id, d.webhook_id
    )
    select id, webhook_id as "webhookId", 'ended' as effect,
           case when end_reason = 'retries_exhausted' then json_build_object(
             'origin', origin, 'created_at', created_at, 'ended_at', now(),
             'attempt_count', (all_attempts).attempt_count) end as ended
      from ended
     union all select id, webhook_id, 'retried', null from retried
     union all select id, webhook_id, 'due', null from retried where is_due
     union all select id, webhook_id, 'due', null from freed`,
);

/**
 * Logs attempts with an outdated lease. A successful attempt still makes the delivery `delivered`, even if the log has
 * another status. Returns the IDs of deliveries that the attempt did not end.
 */
const recordOutdated = statementWith<Values>(
  'deliveries-record-late',
  `
    with done as (
      select * from unnest($workspaceIds::text[], $environments::text[], $ids::text[], $leases::integer[],
                           $attempts::jsonb[], $statuses::text[])
          as done (workspace_id, environment, id, lease, attempt, status)
    ), in_progress as (
      update webhooks.deliveries as d set (${recorded}) = (${withAttempt}) from done
       where ${sameDelivery} and ${isNew}
      returning d.id
    ), ended as (
      update webhooks.delivery_log as d
         set (${recorded}) = (${withAttempt}),
             status = case when done.status = 'delivered' then 'delivered' else d.status end,
             end_reason = case when done.status = 'delivered' then null else d.end_reason end
        from done where ${sameLogged} and ${isNew}
      returning d.id, d.status
    )
    select id from in_progress union all select id from ended where status <> 'delivered'`,
);

/**
 * Postpones a delivery with a last attempt that PostgreSQL cannot store. The attempt counts toward this round. The
 * delay doubles with each such attempt, from two minutes to a day, so that the endpoint is called rarely.
 */
export async function postponeUnrecorded(db: Queryable, { job }: Recording): Promise<void> {
  await db.query({
    name: 'deliveries-postpone-unrecorded',
    text: `
      update webhooks.deliveries
         set tries = $5, leased_until = null, due_at = now() + least(1440, 2 ^ least($5, 11)) * interval '1 minute'
       where workspace_id = $1 and environment = $2 and id = $3 and lease = $4`,
    values: [job.workspaceId, job.environment, job.id, job.lease, job.tries + 1],
  });
}

type Values = ReturnType<typeof valuesOf>;

function valuesOf(recordings: readonly Recording[]) {
  return {
    workspaceIds: recordings.map(({ job }) => job.workspaceId),
    environments: recordings.map(({ job }) => job.environment),
    ids: recordings.map(({ job }) => job.id),
    leases: recordings.map(({ job }) => job.lease),
    attempts: recordings.map(({ job, result }) => toAttemptJson(result, job.endpoint.url)),
    statuses: recordings.map(({ settlement }) => settlement.status),
    dueInMs: recordings.map(({ settlement }) => settlement.dueInMs ?? null),
    tries: recordings.map(({ job }) => job.tries + 1),
    endReasons: recordings.map(({ settlement }) => settlement.endReason ?? null),
  };
}
