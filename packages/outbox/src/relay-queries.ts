import type { Queryable } from '@rms/db';
import { channel } from './claim-queries.ts';

/** A row of the outbox as the relay publishes it. */
export interface PendingEvent {
  /** bigint as text. */
  readonly id: string;
  readonly workspace_id: string;
  readonly environment: string;
  readonly partition: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly record_key: string;
  readonly request_id: string;
  readonly traceparent: string;
  readonly payload: Buffer;
  /** How long it had been waiting when it was read, in seconds. */
  readonly waited_seconds: number;
}

/**
 * How much one batch of a partition holds at most. It may exceed the bytes by its last event, which is well below 512 kB;
 * Kafka takes a batch of up to 1 MB.
 */
export const batchLimits = { rows: 200, bytes: 512 * 1024 };

/**
 * Makes {@link readPending} walk the index in its order, whatever the statistics say: those of a queue are wrong most of
 * the time. Such a walk also marks the entries of rows that were deleted, so that the next one passes over them; a bitmap
 * or a sequential scan would visit all of them again and again until the next vacuum.
 */
export async function walkIndexOnly(connection: Queryable): Promise<void> {
  await connection.query('set enable_bitmapscan = off; set enable_seqscan = off');
}

/**
 * The oldest rows of each of these partitions in the order of their ids: for one resource that is the order of its
 * commits, since a later change waits for the earlier one's row lock before it takes an id. Sizes are read without
 * reading the payloads.
 */
export async function readPending(
  db: Queryable,
  partitions: readonly number[],
  limits = batchLimits,
): Promise<PendingEvent[]> {
  const { rows } = await db.query<PendingEvent>({
    name: 'outbox-read',
    text: `
      select event.id, workspace_id, environment, event.partition, event_id, event_type, record_key, request_id,
             traceparent, payload, extract(epoch from clock_timestamp() - created_at)::float8 as waited_seconds
        from unnest($1::integer[]) as wanted (partition)
       cross join lateral (
               select oldest.*, sum(octet_length(payload)) over (order by id) - octet_length(payload) as bytes_before
                 from (
                        select * from outbox.events
                         where events.partition = wanted.partition order by id limit $2
                      ) as oldest
             ) as event
       where bytes_before < $3
       order by event.partition, event.id`,
    values: [partitions, limits.rows, limits.bytes],
  });
  return rows;
}

/** Forgets rows that are safe on the bus. Ids are unique; the partitions are named for the index. */
export async function deletePublished(db: Queryable, events: readonly PendingEvent[]): Promise<void> {
  await db.query('delete from outbox.events where partition = any($1::integer[]) and id = any($2::bigint[])', [
    [...new Set(events.map(({ partition }) => partition))],
    events.map(({ id }) => id),
  ]);
}

/** How long the oldest row of these many partitions has been waiting, in seconds; 0 if none is. */
export async function oldestAgeSeconds(db: Queryable, partitions: number): Promise<number> {
  const { rows } = await db.query<{ age: number | null }>(
    `select extract(epoch from now() - min(oldest.created_at))::float8 as age
       from generate_series(0, $1::integer - 1) as wanted (partition)
      cross join lateral (
              select created_at from outbox.events where events.partition = wanted.partition order by id limit 1
            ) as oldest`,
    [partitions],
  );
  return Math.max(0, rows[0]?.age ?? 0);
}

/** Pages that {@link countWaiting} reads at most; an outbox of 2 MiB is counted whole. */
const pagesCounted = 256;

/**
 * How many rows there are: exact in a small table; in a large one an estimate from a random sample of its pages, which
 * costs the same however many rows there are.
 */
export async function countWaiting(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ part: number }>(
    `select least(1, $1 * current_setting('block_size')::float8
                     / greatest(1, pg_relation_size('outbox.events'))) as part`,
    [pagesCounted],
  );
  const part = rows[0]?.part ?? 1;
  const { rows: counts } = await db.query<{ count: number }>(
    'select count(*)::float8 as count from outbox.events tablesample system ($1)',
    [part * 100],
  );
  return Math.round((counts[0]?.count ?? 0) / part);
}

/** Tells the relays of other processes which partitions have new events. */
export async function notifyRelays(db: Queryable, partitions: readonly number[]): Promise<void> {
  await db.query({ name: 'outbox-notify', text: 'select pg_notify($1, $2)', values: [channel, partitions.join()] });
}
