import type { ConsumedRecord, EventBus } from '@rms/bus';
import { inTransaction, isRefusal, isTimeout, type Pool } from '@rms/db';
import { idTime } from '@rms/ids';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import { coalesce } from '@rms/rpc';
import type { Logger, Worker } from '@rms/service';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import type { WebhooksMetrics } from '../metrics.ts';
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

  const storeAll = async (events: readonly ResourceEvent[]): Promise<void> => {
    const openings = engine.openings();
    const { jobs, due } = await inTransaction(pool, (tx) => fanOut(tx, events, openings));
    engine.deliver(jobs);
    watchers.wake(events);
    const nowMs = Date.now();
    for (const { id } of events) metrics.fannedOut(nowMs - idTime(id));
    if (due.length > 0) engine.wakeFor(due);
  };

  /** Stores what PostgreSQL takes; halves what it refuses, until what is refused is one event. */
  const storeSome = async (events: readonly ResourceEvent[], refused: Map<string, Error>): Promise<void> => {
    try {
      await storeAll(events);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [first] = events;
      if (events.length === 1 && first) {
        refused.set(first.id, error as Error);
        return;
      }
      const half = Math.ceil(events.length / 2);
      await storeSome(events.slice(0, half), refused);
      await storeSome(events.slice(half), refused);
    }
  };

  const storeTogether = coalesce(
    async (batches: ResourceEvent[][]): Promise<Refusals[]> => {
      const events = unique(batches.flat());
      const refused = new Map<string, Error>();
      for (let i = 0; i < events.length; ) {
        const some = events.slice(i, i + atOnce);
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

  const handle = async (records: readonly ConsumedRecord[], signal: AbortSignal) => {
    const decoded = records.map((record) => ({ record, event: decode(record) }));
    const events = decoded.flatMap(({ event }) => (isDead(event) ? [] : event));
    const refused: Refusals = events.length > 0 ? await storeTogether(events) : new Map();
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
function unique(events: readonly ResourceEvent[]): ResourceEvent[] {
  return [...new Map(events.map((event) => [event.id, event])).values()];
}
