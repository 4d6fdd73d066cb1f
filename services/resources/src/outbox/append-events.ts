import { crc32 } from 'node:zlib';
import type { Queryable } from '@rms/postgres/db';

/** An event to publish, as written in the transaction that causes it. */
export interface OutboxEvent {
  readonly workspaceId: string;
  readonly environment: string;
  /** See {@link partitionOf}. */
  readonly partition: number;
  readonly eventId: string;
  readonly eventType: string;
  /** Key of the bus record: the resource ID. */
  readonly recordKey: string;
  readonly requestId: string;
  /** Empty if the request is not traced. */
  readonly traceparent: string;
  /** W3C tracestate; empty: none. */
  readonly tracestate: string;
  /** Value of the bus record. */
  readonly payload: Uint8Array;
}

/** Columns that a writer fills when it appends in its own statement, in the order of {@link eventParameters}. */
export const eventColumns =
  'workspace_id, environment, partition, event_id, event_type, record_key, request_id, traceparent, tracestate, payload';

/** Returns `unnest(…)` over the parameters of {@link eventParameters}, numbered from $`first`. */
export function unnestEvents(first: number): string {
  const types = ['text', 'text', 'integer', 'text', 'text', 'text', 'text', 'text', 'text', 'bytea'];
  return `unnest(${types.map((type, i) => `$${first + i}::${type}[]`).join(', ')})`;
}

/** Returns one array per column of {@link eventColumns}. */
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
    events.map(({ tracestate }) => tracestate || null),
    events.map(({ payload }) => payload),
  ];
}

const appendSql = `
  insert into outbox.events (${eventColumns})
  select ${eventColumns}
    from ${unnestEvents(1)} with ordinality as event (${eventColumns}, position)
   order by position`;

/** Appends events, in order, in the caller's transaction. Wake the relay after the commit. */
export async function appendEvents(tx: Queryable, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.query({ name: 'outbox-append', text: appendSql, values: eventParameters(events) });
}

/**
 * Returns a record key's partition: CRC-32 of the key modulo the number of partitions. All events of a resource
 * are in the same partition, which keeps their order. If the number of partitions is reduced, the relay moves the rows
 * in the outbox; if it is increased, the order of resources with rows in the outbox is lost.
 */
export function partitionOf(recordKey: string, partitions: number): number {
  return crc32(recordKey) % partitions;
}
