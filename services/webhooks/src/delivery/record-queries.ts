import type { Queryable } from '@rms/db';
import { toLoggedAttempt } from '../log/attempt.ts';
import { freed, kept } from './end-queries.ts';
import type { AttemptResult, DeliveryJob, DeliveryRef } from './job.ts';
import type { Settlement } from './settle.ts';

/** An attempt to write down. */
export interface Recording {
  readonly job: DeliveryJob;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/**
 * Writes many attempts and what follows from them, each statement for one attempt of each delivery: a delivery that has
 * ended goes from the queue into the log. An attempt whose lease is not the last one any more is logged and decides
 * nothing; one that arrived is a success even so. One that is written already changes nothing. Answers with the deliveries
 * that are due now since those before them in their lanes have ended.
 */
export async function recordAttempts(db: Queryable, recordings: readonly Recording[]): Promise<DeliveryRef[]> {
  const next: DeliveryRef[] = [];
  let rest = recordings;
  while (rest.length > 0) {
    const batch = new Map<string, Recording>();
    const again: Recording[] = [];
    for (const recording of rest) {
      if (batch.has(recording.job.id)) again.push(recording);
      else batch.set(recording.job.id, recording);
    }
    // All lock deliveries in the order of their ids, so that none waits for another in a circle.
    const inOrder = [...batch.values()].sort((a, b) => (a.job.id < b.job.id ? -1 : 1));
    const rows = await recordOneEach(db, inOrder);
    const decided = new Set(rows.flatMap(({ id, decided }) => (decided ? id : [])));
    const late = inOrder.filter(({ job }) => !decided.has(job.id));
    if (late.length > 0) await recordLate(db, late);
    next.push(...rows.filter((row) => !row.decided));
    rest = again;
  }
  return next;
}

const doneRows = `
        select * from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::jsonb[], $6::text[], $7::float8[],
                             $8::integer[])
            as done (workspace_id, environment, id, lease, attempt, status, due_in_ms, tries)`;
const sameDelivery = 'd.workspace_id = done.workspace_id and d.environment = done.environment and d.id = done.id';
/** Of a statement that was committed although its connection broke, and comes again. */
const isNew = 'not d.attempts @> jsonb_build_array(done.attempt)';
const withAttempt = "d.attempts || jsonb_set(done.attempt, '{number}', to_jsonb(jsonb_array_length(d.attempts) + 1))";

/** Answers with those whose attempts have decided something, and with those that are freed by it. */
async function recordOneEach(
  db: Queryable,
  recordings: readonly Recording[],
): Promise<(DeliveryRef & { decided: boolean })[]> {
  const { rows } = await db.query<DeliveryRef & { decided: boolean }>({
    name: 'deliveries-record',
    text: `
      with done as (${doneRows}
      ), ended as (
        delete from webhooks.deliveries as d using done
         where ${sameDelivery} and done.status <> 'pending' and (d.lease = done.lease or done.status = 'delivered')
           and ${isNew}
        returning d.*, done.status, ${withAttempt} as all_attempts
      ), retried as (
        update webhooks.deliveries as d
           set attempts = ${withAttempt}, tries = done.tries,
               due_at = now() + done.due_in_ms * interval '1 millisecond'
          from done
         where ${sameDelivery} and done.status = 'pending' and d.lease = done.lease and ${isNew}
        returning d.workspace_id, d.environment, d.id
      ), logged as (
        insert into webhooks.delivery_log (${kept}, status, attempts)
        select ${kept}, status, all_attempts from ended
      ), freed as (${freed}
        returning d.workspace_id, d.environment, d.id
      )
      select workspace_id as "workspaceId", environment, id, true as decided from ended
       union all select workspace_id, environment, id, true from retried
       union all select workspace_id, environment, id, false from freed`,
    values: valuesOf(recordings),
  });
  return rows;
}

/** Attempts that decide nothing any more, unless they have arrived: then the delivery has, whatever the log says. */
async function recordLate(db: Queryable, recordings: readonly Recording[]): Promise<void> {
  const values = valuesOf(recordings).slice(0, 6);
  const late = `
        select * from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::jsonb[], $6::text[])
            as done (workspace_id, environment, id, lease, attempt, status)`;
  await db.query({
    name: 'deliveries-record-late',
    text: `
      with done as (${late}
      ), under_way as (
        update webhooks.deliveries as d set attempts = ${withAttempt} from done
         where ${sameDelivery} and ${isNew}
      )
      update webhooks.delivery_log as d
         set attempts = ${withAttempt},
             status = case when done.status = 'delivered' then 'delivered' else d.status end
        from done where ${sameDelivery} and ${isNew}`,
    values,
  });
}

function valuesOf(recordings: readonly Recording[]): unknown[] {
  return [
    recordings.map(({ job }) => job.workspaceId),
    recordings.map(({ job }) => job.environment),
    recordings.map(({ job }) => job.id),
    recordings.map(({ job }) => job.lease),
    recordings.map(({ result }) => toJson(toLoggedAttempt(result))),
    recordings.map(({ settlement }) => settlement.status),
    recordings.map(({ settlement }) => settlement.dueInMs ?? null),
    recordings.map(({ job }) => job.tries + 1),
  ];
}

/**
 * As PostgreSQL's JSON takes it: it holds no NUL, nor half of a character, which an endpoint's texts may have once they are
 * cut. One that it does not take would stop all that are written with it.
 */
function toJson(value: object): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', '\ufffd').toWellFormed() : part,
  );
}
