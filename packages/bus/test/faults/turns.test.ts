import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import type { Admin, EachBatchPayload, Kafka } from 'kafkajs';
import { consumeFromKafka } from '../../src/kafka-consumer.ts';

const log = createLogger({ name: 'bus', level: 'silent' });
const wait = () => new Promise((resolve) => setTimeout(resolve, 500));

interface Behavior {
  /** Whether every other call of the handler fails. */
  readonly isFlaky: boolean;
  /** Number of batches until a consumer crashes. */
  readonly batches: number;
}

/** A client with consumers that get a batch with a single record every half second. */
function createClient({ isFlaky, batches }: Behavior) {
  let handled = 0;
  const payload = {
    batch: { partition: 0, messages: [{ key: null, value: null, offset: '1' }], lastOffset: () => '1' },
    resolveOffset: () => {},
    heartbeat: async () => {},
    commitOffsetsIfNecessary: async () => {},
    uncommittedOffsets: () => ({ topics: [] }),
  } as unknown as EachBatchPayload;
  const createConsumer = () => {
    const listeners = new Map<string, ((event: object) => void)[]>();
    const emit = (name: string, payload: object) => {
      for (const listener of listeners.get(name) ?? []) listener({ payload });
    };
    let isConnected = true;
    const fetchAll = async (eachBatch: (payload: EachBatchPayload) => Promise<void>) => {
      for (let done = 0; isConnected && done < batches; done += 1) {
        emit('fetching', { nodeId: 0 });
        emit('fetch', { nodeId: 0 });
        await eachBatch(payload);
        await wait();
      }
      if (isConnected) emit('crash', { error: new Error('it crashed') });
    };
    return {
      events: { GROUP_JOIN: 'join', CRASH: 'crash', FETCH_START: 'fetching', FETCH: 'fetch' },
      on: (name: string, listener: (event: object) => void) => {
        listeners.set(name, [...(listeners.get(name) ?? []), listener]);
      },
      connect: async () => emit('join', {}),
      subscribe: async () => {},
      run: async ({ eachBatch }: { eachBatch: (payload: EachBatchPayload) => Promise<void> }) => {
        fetchAll(eachBatch).catch(() => {});
      },
      disconnect: async () => {
        isConnected = false;
      },
    };
  };
  return {
    kafka: { consumer: createConsumer } as unknown as Kafka,
    onBatch: async () => {
      handled += 1;
      if (isFlaky && handled % 2 === 0) throw new Error('it failed');
    },
    handled: () => handled,
  };
}

test.each([
  ['that are handled', { isFlaky: false, batches: Number.POSITIVE_INFINITY }],
  ['of which every other one fails once', { isFlaky: true, batches: Number.POSITIVE_INFINITY }],
  ['of consumers that crash after ten', { isFlaky: false, batches: 10 }],
])('100,000 turns of batches from Kafka %s leave nothing behind', async (_, behavior) => {
  const { kafka, onBatch, handled } = createClient(behavior);
  const subscription = { topic: 't', group: 'g', onBatch };
  const { listeners, bytesPerTurn } = await turnLoop(async (signal) => {
    // Consumers are restarted by the supervisor.
    while (!signal.aborted)
      await consumeFromKafka({ kafka, admin: {} as Admin, log }, subscription, 1, signal).catch(wait);
  });
  expect(handled()).toBeGreaterThan(10_000);
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});
