import { createInProcessBus, type EventBus } from '@rms/bus';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { type TestDatabase, testDatabase } from '@rms/testkit';
import { outboxMigrations as migrations } from '../../src/migrations.ts';
import { createRelay, type Relay, type RelayOptions } from '../../src/outbox/relay.ts';
import { appendEvents, type OutboxEvent, partitionOf } from '../../src/resource/record.ts';

export const partitions = 4;
export const log = createLogger({ name: 'outbox', level: 'silent' });

/** A database with an outbox, a bus with one consumer, and relays that are stopped at the end. */
export interface RelayWorld {
  readonly database: TestDatabase;
  readonly bus: EventBus;
  readonly topic: string;
  /** Records in the consumer's order: "key:event". */
  readonly seen: string[];
  /** Starts a relay. By default it neither polls nor rebalances, so tests depend on notifications. */
  startRelay(options?: Partial<RelayOptions>): { relay: Relay; stop(): Promise<void>; ended: Promise<void> };
  append(events: readonly OutboxEvent[]): Promise<void>;
  waiting(): Promise<number>;
  close(): Promise<void>;
}

export async function createRelayWorld({ bus = createInProcessBus(), topic = 't' } = {}): Promise<RelayWorld> {
  const database = await testDatabase([migrations]);
  await bus.start([{ topic, partitions }]);
  const seen: string[] = [];
  const consuming = new AbortController();
  const consumer = bus.consume(
    {
      topic,
      group: `${topic}-consumer`,
      onBatch: async (records) => void seen.push(...records.map(({ key, headers }) => `${key}:${headers['event-id']}`)),
    },
    consuming.signal,
  );
  const stops: (() => Promise<void>)[] = [];
  return {
    database,
    bus,
    topic,
    seen,
    startRelay(options = {}) {
      const abort = new AbortController();
      const relay = createRelay({
        ...{
          pool: database.pool,
          keyedPool: database.pool,
          bus,
          topic,
          partitions,
          log,
          pollMs: 1e6,
          balanceMs: 1e6,
          metrics: createMetrics('outbox'),
        },
        ...options,
      });
      const ended = relay.run(abort.signal);
      ended.catch(() => {});
      const stop = async () => {
        abort.abort();
        await ended;
      };
      stops.push(stop);
      return { relay, stop, ended };
    },
    append: (events) => appendEvents(database.pool, events),
    async waiting() {
      const { rows } = await database.pool.query<{ count: number }>('select count(*)::integer from outbox.events');
      return rows[0]?.count ?? 0;
    },
    async close() {
      await Promise.allSettled(stops.map((stop) => stop()));
      consuming.abort();
      await consumer;
      await bus.stop();
      await database.drop();
    },
  };
}

/** Creates event number `n` of a resource. */
export function event(recordKey: string, n: number, payload: Uint8Array = Buffer.from(String(n))): OutboxEvent {
  return {
    workspaceId: 'ws_1',
    environment: 'live',
    partition: partitionOf(recordKey, partitions),
    eventId: String(n),
    eventType: 'resource.updated',
    recordKey,
    requestId: 'req_1',
    traceparent: '',
    tracestate: '',
    payload,
  };
}

/** Returns the first occurrence of each event, by resource; repetitions are dropped. */
export function firstSeen(seen: readonly string[]): Record<string, number[]> {
  const byKey: Record<string, number[]> = {};
  for (const entry of new Set(seen)) {
    const [key = '', n = ''] = entry.split(':');
    const numbers = byKey[key] ?? [];
    byKey[key] = numbers;
    numbers.push(Number(n));
  }
  return byKey;
}

/** One key per partition. */
export const keys: readonly string[] = Array.from({ length: partitions }, (_, partition) => {
  let n = 0;
  while (partitionOf(`res_${n}`, partitions) !== partition) n += 1;
  return `res_${n}`;
});
