import type { Queryable } from '@rms/db';

/** An event to publish, as the transaction that causes it writes it down. */
export interface OutboxEvent {
  readonly workspaceId: string;
  readonly environment: string;
  /** See partitionOf. */
  readonly partition: number;
  readonly eventId: string;
  readonly eventType: string;
  /** The key of the bus record: the resource id. */
  readonly recordKey: string;
  readonly requestId: string;
  /** Empty if the request is not traced. */
  readonly traceparent: string;
  /** The bus record's value. */
  readonly payload: Uint8Array;
}

/** The columns that a writer fills when it appends in its own statement, in the order of {@link eventParameters}. */
export const eventColumns =
  'workspace_id, environment, partition, event_id, event_type, record_key, request_id, traceparent, payload';

/** `unnest(…)` over the parameters of {@link eventParameters}, the first of which is $`first`. */
export function unnestEvents(first: number): string {
  const types = ['text', 'text', 'integer', 'text', 'text', 'text', 'text', 'text', 'bytea'];
  return `unnest(${types.map((type, i) => `$${first + i}::${type}[]`).join(', ')})`;
}

/** One array for each of {@link eventColumns}. */
export function eventParameters(events: readonly OutboxEvent[]): unknown[] {
  return [
    events.map(({ workspaceId }) => workspaceId),
    events.map(({ environment }) => environment),
    events.map(({ partition }) => partition),
    events.map(({ eventId }) => eventId),
    events.map(({ eventType }) => eventType),
    events.map(({ recordKey }) => recordKey),
    events.map(({ requestId }) => requestId),
    events.map(({ traceparent }) => traceparent),
    events.map(({ payload }) => payload),
  ];
}

const appendSql = `
  insert into outbox.events (${eventColumns})
  select ${eventColumns}
    from ${unnestEvents(1)} with ordinality as event (${eventColumns}, position)
   order by position`;

/** Appends events, in their order, in the caller's transaction. Wake the relay after the commit. */
export async function appendEvents(tx: Queryable, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.query({ name: 'outbox-append', text: appendSql, values: eventParameters(events) });
}
