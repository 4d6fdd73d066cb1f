import type { Queryable } from '@rms/db';

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
}

/**
 * The oldest rows of each of these partitions, at most `limit` of each, in the order of their ids: for one resource that
 * is the order of its commits, since a later change waits for the earlier one's row lock before it takes an id.
 */
export async function readPending(
  db: Queryable,
  partitions: readonly number[],
  limit: number,
): Promise<PendingEvent[]> {
  const { rows } = await db.query<PendingEvent>({
    name: 'outbox-read',
    text: `
      select event.id, workspace_id, environment, event.partition, event_id, event_type, record_key, request_id,
             traceparent, payload
        from unnest($1::integer[]) as owned (partition)
       cross join lateral (
               select * from outbox.events where events.partition = owned.partition order by id limit $2
             ) as event
       order by event.partition, event.id`,
    values: [partitions, limit],
  });
  return rows;
}

/** Forgets rows that are safe on the bus. */
export async function deletePublished(db: Queryable, events: readonly PendingEvent[]): Promise<void> {
  await db.query({
    name: 'outbox-delete',
    text: `
      delete from outbox.events
       using unnest($1::text[], $2::text[], $3::bigint[]) as published (workspace_id, environment, id)
       where events.workspace_id = published.workspace_id
         and events.environment = published.environment
         and events.id = published.id`,
    values: [
      events.map((event) => event.workspace_id),
      events.map((event) => event.environment),
      events.map((event) => event.id),
    ],
  });
}

/** How long the oldest row has been waiting, in seconds; 0 if none is. */
export async function oldestAgeSeconds(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ age: number | null }>(
    'select extract(epoch from now() - min(created_at))::float8 as age from outbox.events',
  );
  return rows[0]?.age ?? 0;
}

/** Tells the relays of other processes that there is work. */
export async function notifyRelays(db: Queryable): Promise<void> {
  await db.query(`notify ${channel}`);
}

export const channel = 'rms_outbox';
