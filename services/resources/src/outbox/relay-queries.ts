import type { Queryable } from '@rms/postgres/db';
import { type OutboxEvent, partitionOf } from '../resource/record.ts';
import { channel } from './partition-claims.ts';

/** A committed event. */
export interface CommittedEvent extends OutboxEvent {
  /** ID of its row in the outbox: a bigint, as text. */
  readonly id: string;
}

/** An event to publish. */
export interface PendingEvent extends CommittedEvent {
  /** Time from its creation or commit until the relay took it to publish it, in seconds. */
  readonly waitedSeconds: number;
}

/**
 * Limits of a batch, which belongs to one partition. The last event may exceed the byte limit; it is well below 512 kB.
 * Kafka accepts batches of up to 1 MB.
 */
export const batchLimits = { rows: 200, bytes: 512 * 1024 };

/** Returns whether a batch of this size is full, so that it may have excluded events. */
export function isFull(size: typeof batchLimits): boolean {
  return size.rows >= batchLimits.rows || size.bytes >= batchLimits.bytes;
}

/**
 * Forces {@link readPending} to scan the index in order, because statistics of a queue table are usually outdated. An
 * index scan also marks the entries of deleted rows as dead, so that the next scan skips them; a bitmap or sequential
 * scan would visit them again until the next vacuum. The plan depends on no statistics then, and is kept.
 */
export async function walkIndexOnly(connection: Queryable): Promise<void> {
  await connection.query(
    'set enable_bitmapscan = off; set enable_seqscan = off; set plan_cache_mode = force_generic_plan',
  );
}

/**
 * Reads the oldest rows of each partition in order of their IDs. For one resource this is the commit order, because a
 * later change waits for the earlier change's row lock before it takes an ID. Sizes are computed without reading the
 * payloads.
 */
export async function readPending(
  db: Queryable,
  partitions: readonly number[],
  limits = batchLimits,
): Promise<PendingEvent[]> {
  const { rows } = await db.query<PendingEvent>({
    name: 'outbox-read',
    text: `
      select event.id, workspace_id as "workspaceId", environment, event.partition, event_id as "eventId",
             event_type as "eventType", record_key as "recordKey", request_id as "requestId", traceparent,
             coalesce(tracestate, '') as tracestate, payload,
             extract(epoch from clock_timestamp() - created_at)::float8 as "waitedSeconds"
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

/**
 * Deletes published rows. A database that has lost its last commits in a failover assigns their IDs again, so the event
 * IDs decide; the partitions and IDs are included for the index.
 *
 * The commit does not wait for the disk: rows that are back after a crash of PostgreSQL are published again, and the
 * consumer stores an event once.
 */
export async function deletePublished(db: Queryable, events: readonly PendingEvent[]): Promise<void> {
  await db.query({
    name: 'outbox-delete',
    text: `
      delete from outbox.events using (select set_config('synchronous_commit', 'off', true)) as without_flush
       where partition = any($1::integer[]) and id = any($2::bigint[]) and event_id = any($3::text[])`,
    values: [
      [...new Set(events.map(({ partition }) => partition))],
      events.map(({ id }) => id),
      events.map(({ eventId }) => eventId),
    ],
  });
}

/** Maximum number of rows that a statement of {@link repartition} reads. */
const movedPerStatement = 1_000;

/**
 * Moves the rows to the partitions of their record keys if rows are in partitions that do not exist, because the number
 * of partitions was reduced. The rows keep their IDs, so a resource's events stay in order. Returns the number of
 * moved rows.
 */
export async function repartition(db: Queryable, partitions: number): Promise<number> {
  const { rows: stranded } = await db.query('select from outbox.events where partition >= $1 limit 1', [partitions]);
  if (stranded.length === 0) return 0;
  let moved = 0;
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const { rows }: { rows: { id: string; partition: number; record_key: string }[] } = await db.query(
      'select id, partition, record_key from outbox.events where id > $1 order by id limit $2',
      [after, movedPerStatement],
    );
    const wrong = rows.filter((row) => row.partition !== partitionOf(row.record_key, partitions));
    await db.query(
      `update outbox.events set partition = moved.after
         from unnest($1::bigint[], $2::integer[], $3::integer[]) as moved (id, before, after)
        where events.partition = moved.before and events.id = moved.id`,
      [
        wrong.map(({ id }) => id),
        wrong.map(({ partition }) => partition),
        wrong.map(({ record_key: key }) => partitionOf(key, partitions)),
      ],
    );
    moved += wrong.length;
    after = rows.at(-1)?.id;
  }
  return moved;
}

/** Returns the oldest row's age in seconds, of all partitions or of these; 0 without rows. */
export async function oldestAgeSeconds(db: Queryable, partitions?: readonly number[]): Promise<number> {
  const { rows } = await db.query<{ age: number | null }>(
    `with recursive present (partition) as (
       (select partition from outbox.events order by partition limit 1)
       union all
       select (select partition from outbox.events where events.partition > present.partition order by partition limit 1)
         from present where present.partition is not null
     )
     select extract(epoch from now() - min(oldest.created_at))::float8 as age
       from (select unnest($1::integer[]) as partition union all select partition from present where $1 is null) as wanted
      cross join lateral (
              select created_at from outbox.events where events.partition = wanted.partition order by id limit 1
            ) as oldest`,
    [partitions],
  );
  return Math.max(0, rows[0]?.age ?? 0);
}

/** Maximum number of pages that {@link countWaiting} reads; an outbox of up to 2 MiB is counted exactly. */
const pagesCounted = 256;

/**
 * Counts rows: exactly for a small table, otherwise as an estimate from a random sample of pages, with a cost
 * independent of the table size.
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

/** Notifies the relays of other processes about partitions with new events. */
export async function notifyRelays(db: Queryable, partitions: readonly number[]): Promise<void> {
  await db.query({ name: 'outbox-notify', text: 'select pg_notify($1, $2)', values: [channel, partitions.join()] });
}
