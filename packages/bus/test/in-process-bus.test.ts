import { createInProcessBus } from '../src/in-process-bus.ts';
import { describeEventBus, record, text } from './conformance.ts';

describeEventBus('in process', () => createInProcessBus());

const never = new AbortController().signal;
const batch = (value: string, partition = 0) => ({ topic: 't', partition, records: [record(value)] });

describe('the in-process bus', () => {
  test('acknowledges a batch only when every group has handled it', async () => {
    const bus = createInProcessBus();
    const abort = new AbortController();
    const order: string[] = [];
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const consumers = [
      bus.consume({ topic: 't', group: 'quick', onBatch: async () => void order.push('quick') }, abort.signal),
      bus.consume({ topic: 't', group: 'slow', onBatch: () => slow.then(() => void order.push('slow')) }, abort.signal),
    ];
    const published = bus.publish(batch('a'), never).then(() => order.push('acknowledged'));
    setImmediate(finish);
    await published;
    expect(order).toEqual(['quick', 'slow', 'acknowledged']);
    abort.abort();
    await Promise.all(consumers);
  });

  test('does not acknowledge a batch without a consumer', async () => {
    const bus = createInProcessBus({ consumerWaitMs: 20 });
    await expect(bus.publish(batch('a'), never)).rejects.toThrow('waiting for a consumer of t');
  });

  test('does not acknowledge a batch while one of two groups has no consumer', async () => {
    const bus = createInProcessBus({ consumerWaitMs: 20 });
    const stays = new AbortController();
    const goes = new AbortController();
    const onBatch = async () => {};
    const staying = bus.consume({ topic: 't', group: 'stays', onBatch }, stays.signal);
    const going = bus.consume({ topic: 't', group: 'goes', onBatch }, goes.signal);
    await bus.publish(batch('a'), never);
    goes.abort();
    await going;
    await expect(bus.publish(batch('b'), never)).rejects.toThrow('waiting for a consumer of t');
    stays.abort();
    await staying;
  });

  test('a hanging handler does not delay other partitions', async () => {
    const bus = createInProcessBus();
    const abort = new AbortController();
    const seen: string[] = [];
    const onBatch = (
      records: readonly { value: Uint8Array; key: string; headers: Record<string, string> }[],
      signal: AbortSignal,
    ) => {
      seen.push(...records.map(text));
      if (!seen.includes('other'))
        return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return Promise.resolve();
    };
    const consumer = bus.consume({ topic: 't', group: 'g', onBatch }, abort.signal);
    const hanging = bus.publish(batch('hangs', 0), never);
    await bus.publish(batch('other', 1), never);
    expect(seen).toEqual(['hangs', 'other']);
    abort.abort();
    await Promise.all([hanging, consumer]);
  });

  test('a batch that the publisher has given up occupies its partition until its handler ends', async () => {
    const bus = createInProcessBus();
    const abort = new AbortController();
    const running: string[] = [];
    const overlaps: string[] = [];
    let finish = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const consumer = bus.consume(
      {
        topic: 't',
        group: 'g',
        onBatch: async (records) => {
          const name = records.map(text).join();
          if (running.length > 0) overlaps.push(name);
          running.push(name);
          if (name === 'first') await gate;
          running.pop();
        },
      },
      abort.signal,
    );
    const given_up = new AbortController();
    const first = bus.publish(batch('first'), given_up.signal);
    setImmediate(() => given_up.abort(new Error('given up')));
    await expect(first).rejects.toThrow('given up');
    const second = bus.publish(batch('second'), never);
    setImmediate(finish);
    await second;
    expect(overlaps).toEqual([]);
    abort.abort();
    await consumer;
  });

  test('publish() rejects after stop()', async () => {
    const bus = createInProcessBus();
    await bus.stop();
    expect(await bus.healthy()).toBe(false);
    await expect(bus.publish(batch('a'), never)).rejects.toThrow('stopped');
  });
});
