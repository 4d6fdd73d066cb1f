import type { ConsumedRecord, EventBus } from '@rms/bus';
import { isRefusal, isTimeout, type Pool } from '@rms/db';
import { idTime } from '@rms/ids';
import { coalesce } from '@rms/rpc';
import type { Logger, Worker } from '@rms/service';
import { endSpans, inSpans, outsideSpans } from '@rms/tracing';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import type { Arrival } from './arrival.ts';
import { startConsumerSpans } from './consumer-spans.ts';
import { createDeadLetters } from './dead-letters.ts';
import { type DeadLetter, decode, isDead } from './decode.ts';
import { fanOut } from './fan-out-queries.ts';

export interface FanOutParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly group: string;
  readonly engine: Pick<DeliveryEngine, 'openings' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly metrics: WebhooksMetrics;
  readonly log: Logger;
}

/** Why PostgreSQL refuses an event, by the event's id. */
type Refusals = ReadonlyMap<string, Error>;

/** Events of one statement at most. */
const eventsAtOnce = 500;

/**
 * Turns events of the bus into deliveries. Batches of different partitions that come at the same time share a statement;
 * the position on the bus moves on after its commit, and after what cannot be used is safe on the dead-letter topic:
 *
 *   batch ──► its events stored ──► its dead letters published ──► position moves on
 *     ▲             │ PostgreSQL is away     │ the bus does not take them
 *     └─────────────┴────────────────────────┘ comes again; events that are stored already make nothing
 */
export function createFanOut(parts: FanOutParts): Worker {
  const { pool, bus, topic, deadLetterTopic, group, engine, watchers, metrics, log } = parts;
  const setAside = createDeadLetters({ bus, topic: deadLetterTopic, source: topic, metrics, log });
  /** Halved when a statement runs into its deadline, so that each try has less to do. */
  let atOnce = eventsAtOnce;

  const storeAll = async (arrivals: readonly Arrival[]): Promise<void> => {
    const openings = engine.openings();
    const { jobs, due } = await fanOut(pool, arrivals, openings);
    const nowMs = Date.now();
    for (const { event } of arrivals) metrics.fannedOut(nowMs - idTime(event.id));
    // What follows has traces of its own to go by: each delivery that of its event.
    outsideSpans(() => {
      engine.deliver(jobs);
      watchers.wake(arrivals.map(({ event }) => event));
      if (due.length > 0) engine.wakeFor(due);
    });
  };

  /** Stores what PostgreSQL takes; halves what it refuses, until what is refused is one event. */
  const storeSome = async (arrivals: readonly Arrival[], refused: Map<string, Error>): Promise<void> => {
    try {
      await storeAll(arrivals);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [first] = arrivals;
      if (arrivals.length === 1 && first) {
        refused.set(first.event.id, error as Error);
        return;
      }
      const half = Math.ceil(arrivals.length / 2);
      await storeSome(arrivals.slice(0, half), refused);
      await storeSome(arrivals.slice(half), refused);
    }
  };

  const storeTogether = coalesce(
    async (batches: Arrival[][]): Promise<Refusals[]> => {
      const arrivals = unique(batches.flat());
      const refused = new Map<string, Error>();
      for (let i = 0; i < arrivals.length; ) {
        const some = arrivals.slice(i, i + atOnce);
        try {
          await storeSome(some, refused);
        } catch (error) {
          if (isTimeout(error)) atOnce = Math.max(1, Math.floor(atOnce / 2));
          throw error;
        }
        i += some.length;
        atOnce = Math.min(eventsAtOnce, atOnce * 2);
      }
      return batches.map(() => refused);
    },
    { maxInFlight: 1, maxBatch: 32 },
  );

  const storeTraced = async (arrivals: Arrival[]): Promise<Refusals> => {
    const spans = startConsumerSpans(topic, group, arrivals);
    try {
      const refused = await inSpans(spans, () => storeTogether(arrivals));
      endSpans(spans);
      return refused;
    } catch (error) {
      endSpans(spans, error);
      throw error;
    }
  };

  const handle = async (records: readonly ConsumedRecord[], signal: AbortSignal) => {
    const decoded = records.map((record) => ({ record, event: decode(record) }));
    const arrivals = decoded.flatMap(({ record, event }) => (isDead(event) ? [] : { record, event }));
    const refused: Refusals = arrivals.length > 0 ? await storeTraced(arrivals) : new Map();
    const dead = decoded.flatMap(({ record, event }): DeadLetter | [] => {
      if (isDead(event)) return event;
      const refusal = refused.get(event.id);
      return refusal ? { record, reason: 'refused', detail: refusal.message } : [];
    });
    if (dead.length > 0) await setAside(dead, signal);
  };

  return {
    name: 'fan-out',
    run: (signal, health) => {
      /** Partitions whose batch has failed and comes again. */
      const stuck = new Set<number>();
      const onBatch = async (records: readonly ConsumedRecord[], lost: AbortSignal) => {
        const partition = records[0]?.partition ?? 0;
        try {
          await handle(records, lost);
          stuck.delete(partition);
          if (stuck.size === 0) health?.working();
        } catch (error) {
          if (lost.aborted) stuck.delete(partition);
          else stuck.add(partition);
          if (stuck.size > 0) health?.stuck();
          throw error;
        }
      };
      // Until it has joined it gets nothing.
      health?.stuck();
      const onJoined = () => {
        if (stuck.size === 0) health?.working();
      };
      return bus.consume({ topic, group, onBatch, onJoined }, signal);
    },
  };
}

/** A statement can't meet the same event twice. */
function unique(arrivals: readonly Arrival[]): Arrival[] {
  return [...new Map(arrivals.map((arrival) => [arrival.event.id, arrival])).values()];
}
