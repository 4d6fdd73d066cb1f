import type { BusRecord, EventBus } from '@rms/bus';
import type { Pool } from '@rms/db';
import { coalesce } from '@rms/rpc';
import { abortableDelay, type Logger } from '@rms/service';
import type { Bell } from './bell.ts';
import { startProducerSpans } from './producer-spans.ts';
import type { RelayMetrics } from './relay-metrics.ts';
import { batchLimits, deletePublished, type PendingEvent } from './relay-queries.ts';

const retryMs = 200;

interface PublisherParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly partitions: number;
  readonly log: Logger;
  readonly metrics: Pick<RelayMetrics, 'published' | 'failed'>;
  /** Rung when a partition is free again. */
  readonly bell: Bell;
  /** Partitions to read again. */
  readonly due: Set<number>;
}

/** Publishes one batch of each partition at a time, side by side, and deletes what is acknowledged. */
export function createPublisher({ pool, bus, topic, partitions, log, metrics, bell, due }: PublisherParts) {
  const busy = new Map<number, Promise<void>>();
  const cut = new AbortController();
  // Batches that are acknowledged at about the same time are deleted by one statement.
  const forget = coalesce(
    async (batches: (readonly PendingEvent[])[]) => {
      await deletePublished(pool, batches.flat());
      return batches.map(() => undefined);
    },
    { maxBatch: partitions },
  );

  const publishOne = async (partition: number, events: readonly PendingEvent[]) => {
    let more = true;
    const readAtMs = performance.now();
    const spans = startProducerSpans(topic, events);
    try {
      const records = events.map((event) => toRecord(event, spans.traceparentOf(event)));
      await bus.publish({ topic, partition, records }, cut.signal);
      spans.end();
      metrics.published(events, performance.now() - readAtMs);
      await forget(events);
      more = isFull(events);
    } catch (err) {
      spans.end(err);
      if (cut.signal.aborted) return;
      metrics.failed();
      log.warn({ err, partition, events: events.length }, 'events were not published; they will be tried again');
      await abortableDelay(retryMs, cut.signal);
    } finally {
      busy.delete(partition);
      if (more) due.add(partition);
      bell.ring();
    }
  };

  return {
    isBusy: (partition: number) => busy.has(partition),
    /** Resolves when all of it is deleted, or left for another try, but not later than after `longestMs`. */
    async publish(pending: readonly PendingEvent[], longestMs: number) {
      const round = [...byPartition(pending)].map(([partition, events]) => {
        const published = publishOne(partition, events);
        busy.set(partition, published);
        return published;
      });
      const stuck = new AbortController();
      await Promise.race([Promise.all(round), abortableDelay(longestMs, stuck.signal)]);
      stuck.abort();
    },
    /** Gives up what is on its way. */
    abort: (reason: unknown) => cut.abort(reason),
    /** Waits for what is on its way, but not longer than that. */
    async drain(longestMs: number) {
      const timer = setTimeout(() => cut.abort(new Error('the relay has stopped')), longestMs);
      await Promise.all(busy.values());
      clearTimeout(timer);
    },
  };
}

/** Whether the limits of a batch may have left events behind. */
function isFull(events: readonly PendingEvent[]): boolean {
  const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0);
  return events.length >= batchLimits.rows || bytes >= batchLimits.bytes;
}

function byPartition(events: readonly PendingEvent[]): Map<number, PendingEvent[]> {
  const groups = new Map<number, PendingEvent[]>();
  for (const event of events) {
    const group = groups.get(event.partition);
    if (group) group.push(event);
    else groups.set(event.partition, [event]);
  }
  return groups;
}

function toRecord(event: PendingEvent, traceparent: string): BusRecord {
  return {
    key: event.record_key,
    value: event.payload,
    headers: {
      'event-id': event.event_id,
      'event-type': event.event_type,
      'workspace-id': event.workspace_id,
      environment: event.environment,
      'x-request-id': event.request_id,
      ...(traceparent ? { traceparent } : {}),
    },
  };
}
