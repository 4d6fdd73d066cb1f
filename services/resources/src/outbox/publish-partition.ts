import { abortableDelay, coalesce, type WakeableSleep, waitAtMost } from '@rms/async';
import {
  attribute,
  endSpans,
  isTracing,
  parseTraceContext,
  type Span,
  spanKind,
  startSpan,
  type TraceContext,
  traceContextOf,
} from '@rms/async/tracing';
import type { BusRecord, EventBus } from '@rms/bus';
import type { Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { RelayMetrics } from './relay-metrics.ts';
import { type CommittedEvent, deletePublished, isFull, type PendingEvent } from './relay-queries.ts';

const firstRetryMs = 200;
const maxRetryMs = 5_000;

interface PublisherParts {
  readonly keyedPool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly partitions: number;
  readonly log: Logger;
  readonly metrics: Pick<RelayMetrics, 'published' | 'failed'>;
  /** Woken when a partition becomes idle. */
  readonly sleeper: Pick<WakeableSleep, 'wake'>;
  /** Makes the relay read a partition again. */
  readonly makeDue: (partition: number) => void;
}

/** Sends a relay session's batches. */
export type Publisher = ReturnType<typeof createPublisher>;

/** A batch in flight. */
interface Batch {
  readonly published: Promise<void>;
  readonly ids: ReadonlySet<string>;
}

/**
 * Creates a publisher, which sends one batch per partition at a time, partitions concurrently, and deletes acknowledged
 * events.
 */
export function createPublisher({ keyedPool, bus, topic, partitions, log, metrics, sleeper, makeDue }: PublisherParts) {
  const busy = new Map<number, Batch>();
  /** Delays before the next attempt, of partitions with a failed last batch. */
  const retries = new Map<number, number>();
  const cut = new AbortController();
  // Combines batches that are acknowledged at about the same time into one DELETE.
  const forget = coalesce(
    async (batches: (readonly PendingEvent[])[]) => {
      await deletePublished(keyedPool, batches.flat());
      return batches.map(() => undefined);
    },
    { maxBatch: partitions },
  );

  const publishOne = async (partition: number, events: readonly PendingEvent[]) => {
    let more = true;
    const readAtMs = performance.now();
    const spans = startProducerSpans(topic, events);
    try {
      const records = events.map((event) => toRecord(event, spans.contextOf(event)));
      await bus.publish({ topic, partition, records }, cut.signal);
      spans.end();
      metrics.published(events, performance.now() - readAtMs);
      await forget(events);
      retries.delete(partition);
      more = isFull({ rows: events.length, bytes: events.reduce((sum, { payload }) => sum + payload.length, 0) });
    } catch (err) {
      spans.end(err);
      if (cut.signal.aborted) return;
      metrics.failed();
      log.warn({ err, partition, events: events.length }, 'publishing events failed; retrying');
      const retryMs = retries.get(partition) ?? firstRetryMs;
      retries.set(partition, Math.min(2 * retryMs, maxRetryMs));
      await abortableDelay(retryMs, cut.signal);
    } finally {
      busy.delete(partition);
      if (more) makeDue(partition);
      sleeper.wake();
    }
  };

  return {
    isBusy: (partition: number) => busy.has(partition),
    /** Returns whether an event belongs to a batch in flight. */
    isPublishing: ({ partition, id }: CommittedEvent) => busy.get(partition)?.ids.has(id) ?? false,
    /** Resolves when all batches are deleted or scheduled for a retry, after `maxMs` at the latest. */
    async publish(pending: readonly PendingEvent[], maxMs: number) {
      const round = [...byPartition(pending)].map(([partition, events]) => {
        const published = publishOne(partition, events);
        busy.set(partition, { published, ids: new Set(events.map(({ id }) => id)) });
        return published;
      });
      await waitAtMost(Promise.all(round), maxMs);
    },
    /** Aborts all batches in flight. */
    abort: (reason: unknown) => cut.abort(reason),
    /** Waits for batches in flight, then aborts them after `maxMs`. */
    async drain(maxMs: number) {
      const timer = setTimeout(() => cut.abort(new Error('the relay has stopped')), maxMs);
      await Promise.all([...busy.values()].map(({ published }) => published));
      clearTimeout(timer);
    },
  };
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

function toRecord(event: PendingEvent, { traceparent, tracestate }: TraceContext): BusRecord {
  return {
    key: event.recordKey,
    value: event.payload,
    headers: {
      'event-id': event.eventId,
      'event-type': event.eventType,
      'workspace-id': event.workspaceId,
      environment: event.environment,
      'x-request-id': event.requestId,
      ...(traceparent ? { traceparent } : {}),
      ...(tracestate ? { tracestate } : {}),
    },
  };
}

/** Spans for publishing events, each in its request's trace. */
interface ProducerSpans {
  /** Returns the trace context for the event's record. */
  contextOf(event: PendingEvent): TraceContext;
  /** Ends all spans. Later calls have no effect. */
  end(error?: unknown): void;
}

const withoutSpans: ProducerSpans = { contextOf: storedContextOf, end() {} };

/** Starts a span per traced event, in its request's trace. */
function startProducerSpans(topic: string, events: readonly PendingEvent[]): ProducerSpans {
  if (!isTracing()) return withoutSpans;
  const spans = new Map<PendingEvent, Span>();
  for (const event of events) {
    const parent = parseTraceContext(storedContextOf(event));
    const span =
      parent && startSpan({ ...stepOf(topic), attributes: attributesOf(topic, event, events.length) }, parent);
    if (span) spans.set(event, span);
  }
  return {
    contextOf(event) {
      const span = spans.get(event);
      return span ? traceContextOf(span.spanContext()) : storedContextOf(event);
    },
    end(error) {
      endSpans([...spans.values()], error);
      spans.clear();
    },
  };
}

function storedContextOf({ traceparent, tracestate }: PendingEvent): TraceContext {
  return { traceparent, tracestate };
}

function stepOf(topic: string) {
  return { name: `send ${topic}`, kind: spanKind.producer };
}

function attributesOf(topic: string, event: PendingEvent, batchSize: number) {
  return {
    [attribute.messagingSystem]: 'kafka',
    [attribute.messagingOperation]: 'send',
    [attribute.messagingOperationType]: 'send',
    [attribute.messagingDestination]: topic,
    [attribute.messagingPartition]: `${event.partition}`,
    [attribute.messagingKey]: event.recordKey,
    [attribute.batchSize]: batchSize,
    [attribute.requestId]: event.requestId,
    [attribute.workspaceId]: event.workspaceId,
    [attribute.environment]: event.environment,
    [attribute.eventId]: event.eventId,
    [attribute.eventType]: event.eventType,
  };
}
