import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { deliveryDocument } from '@rms/api/delivery/document';
import { isOperational } from '@rms/base/webhook-events';
import { type Queryable, statementWith } from '@rms/postgres/db';
import { type NewOperationalEvent, queueEvents } from '@rms/postgres/operational-events';
import { DeliverySchema, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type AttemptResult, toAttemptJson, toLoggedAttempt } from '../attempt/attempt.ts';
import type { DeliveryJob } from '../attempt/job.ts';
import type { Settlement } from '../attempt/settle.ts';
import { isDelivery } from '../lease/delivery-key.ts';
import { freed, logged } from './end-queries.ts';

/** An attempt to record. */
export interface Recording {
  readonly job: DeliveryJob;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
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
    const rows = await recordOneEach(db, inOrder);
    await queueEvents(db, 'webhooks', failedEvents(batch, rows));
    const decided = new Set(rows.flatMap(({ id, effect }) => (effect === 'due' ? [] : id)));
    const late = inOrder.filter(({ job }) => !decided.has(job.id));
    if (late.length > 0) for (const id of await recordLate(db, late)) notEnded.add(id);
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
export function mayExhaust({ job, settlement }: Recording): boolean {
  return settlement.endReason === 'retries_exhausted' && !isOperational(job.eventType);
}

/** Returns the events of deliveries that have used up their retries. They are about the delivery's webhook. */
function failedEvents(batch: ReadonlyMap<string, Recording>, rows: readonly RecordedRow[]): NewOperationalEvent[] {
  return rows.flatMap(({ id, ended }) => {
    const recording = batch.get(id);
    if (!ended || !recording || !mayExhaust(recording)) return [];
    const { job, result } = recording;
    const { workspaceId, environment, webhookId: subjectId, requestId, traceparent, tracestate } = job;
    const object = deliveryDocument(
      create(DeliverySchema, {
        ...{ id, eventId: job.eventId, eventType: job.eventType, webhookId: job.webhookId, requestId },
        resourceId: job.resourceId,
        status: DeliveryStatus.FAILED,
        origin: ended.origin,
        attemptCount: ended.attempt_count,
        lastAttempt: {
          startTime: timestampFromDate(result.startedAt),
          statusCode: result.statusCode,
          error: toLoggedAttempt(result).error,
          durationMs: result.durationMs,
        },
        endReason: 'retries_exhausted',
        createTime: timestampFromDate(new Date(ended.created_at)),
        endTime: timestampFromDate(new Date(ended.ended_at)),
      }),
    );
    const cause = { actor: '', requestId, traceparent, tracestate };
    return { type: 'delivery.failed', workspaceId, environment, subjectId, object, origin: cause };
  });
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
  readonly ended: {
    readonly origin: string;
    readonly created_at: string;
    readonly ended_at: string;
    readonly attempt_count: number;
  } | null;
}

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

/** Returns the deliveries with effective attempts, and the deliveries that became due as a result. */
async function recordOneEach(db: Queryable, recordings: readonly Recording[]): Promise<RecordedRow[]> {
  const { rows } = await db.query<RecordedRow>(recordEach(valuesOf(recordings)));
  return rows;
}

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
 * Logs attempts with an outdated lease. A successful attempt still makes the delivery `delivered`, even if the log has
 * another status. Returns the IDs of deliveries that the attempt did not end.
 */
async function recordLate(db: Queryable, recordings: readonly Recording[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(recordOutdated(valuesOf(recordings)));
  return rows.map(({ id }) => id);
}

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
