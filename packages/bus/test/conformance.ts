import { randomUUID } from 'node:crypto';
import { waitUntil } from '@rms/testkit';
import type { BusRecord, ConsumedRecord, EventBus } from '../src/event-bus.ts';

const partitions = 3;
const never = new AbortController().signal;

/** Tests the contract of EventBus. `create` returns a bus that has not been started. */
export function describeEventBus(name: string, create: () => EventBus): void {
  describe(`${name} as an EventBus:`, () => {
    let bus: EventBus;
    let topic: string;
    let group: string;
    const consumers: { abort: AbortController; ended: Promise<void> }[] = [];

    beforeAll(async () => {
      bus = create();
    });
    beforeEach(async () => {
      topic = `rms.test.${randomUUID()}`;
      group = `rms-test-${randomUUID()}`;
      if (name === 'Kafka') bus = create();
      await bus.start([{ topic, partitions }]);
    });
    afterEach(async () => {
      await Promise.all(consumers.splice(0).map(stop));
      if (name === 'Kafka') await bus.stop();
    });

    const consume = (
      onBatch: (records: readonly ConsumedRecord[], signal: AbortSignal) => Promise<void>,
      as = group,
    ) => {
      const abort = new AbortController();
      const ended = bus.consume({ topic, group: as, onBatch }, abort.signal);
      ended.catch(() => {});
      const consumer = { abort, ended };
      consumers.push(consumer);
      return consumer;
    };
    const stop = async ({ abort, ended }: { abort: AbortController; ended: Promise<void> }) => {
      abort.abort();
      await ended;
    };
    const publish = (partition: number, ...values: string[]) =>
      bus.publish({ topic, partition, records: values.map(record) }, never);

    test('records arrive unchanged: key, bytes, headers, partition', async () => {
      const seen: ConsumedRecord[] = [];
      consume(async (records) => void seen.push(...records));
      const value = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      const headers = { 'event-id': 'evt_1', 'x-request-id': 'größer' };
      await bus.publish({ topic, partition: 2, records: [{ key: 'res_1', value, headers }] }, never);
      const arrived = await waitUntil(() => seen[0], { what: 'the record' });
      expect(arrived).toMatchObject({ key: 'res_1', headers, partition: 2 });
      expect(Buffer.from(arrived.value).equals(value)).toBe(true);
    });

    test('records of a partition are handled in order, and offsets increase by one', async () => {
      const seen: ConsumedRecord[] = [];
      consume(async (records) => void seen.push(...records));
      for (const start of [0, 10, 20]) await publish(1, ...Array.from({ length: 10 }, (_, i) => String(start + i)));
      await waitUntil(() => seen.length === 30, { what: '30 records' });
      expect(seen.map(text)).toEqual(Array.from({ length: 30 }, (_, i) => String(i)));
      expect(seen.map(({ offset }) => Number(offset))).toEqual(Array.from({ length: 30 }, (_, i) => i));
    });

    test('a batch whose handler throws is delivered again before later records', async () => {
      const tries: string[][] = [];
      consume(async (records) => {
        tries.push(records.map(text));
        if (tries.length < 3) throw new Error('not yet');
      });
      const published = [publish(0, 'a', 'b')];
      await waitUntil(() => tries.length > 0, { what: 'the first attempt' });
      published.push(publish(0, 'c'));
      await Promise.all(published);
      await waitUntil(() => tries.flat().includes('c'), { what: 'the next record' });
      expect(tries.slice(0, 4)).toEqual([['a', 'b'], ['a', 'b'], ['a', 'b'], ['c']]);
    });

    test('every group receives every record', async () => {
      const seen: Record<string, string[]> = { one: [], two: [] };
      for (const name of ['one', 'two']) {
        consume(async (records) => void seen[name]?.push(...records.map(text)), `${group}-${name}`);
      }
      await Promise.all([publish(0, 'a'), publish(1, 'b'), publish(2, 'c')]);
      await waitUntil(() => seen.one?.length === 3 && seen.two?.length === 3, { what: 'three records in each group' });
      expect(seen.one?.sort()).toEqual(['a', 'b', 'c']);
      expect(seen.two?.sort()).toEqual(['a', 'b', 'c']);
    });

    test('a consumer continues where the previous consumer of its group stopped', async () => {
      const first: string[] = [];
      const consumer = consume(async (records) => void first.push(...records.map(text)));
      await publish(0, 'a', 'b');
      await waitUntil(() => first.length === 2, { what: 'both records' });
      await stop(consumer);
      const meanwhile = publish(0, 'c');
      const second: string[] = [];
      consume(async (records) => void second.push(...records.map(text)));
      await meanwhile;
      await publish(0, 'd');
      await waitUntil(() => second.length >= 2, { what: 'the later records' });
      expect(second).toEqual(['c', 'd']);
    });

    test('a batch that a consumer did not finish is delivered to the next consumer', async () => {
      const interrupted: string[] = [];
      const consumer = consume((records, signal) => {
        interrupted.push(...records.map(text));
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      });
      // The in-process bus rejects, and the publisher publishes again; Kafka stores the record.
      const published = publish(0, 'a').catch(() => publish(0, 'a'));
      await waitUntil(() => interrupted.length === 1, { what: 'the record' });
      await stop(consumer);
      const seen: string[] = [];
      consume(async (records) => void seen.push(...records.map(text)));
      await published;
      await waitUntil(() => seen.length > 0, { what: 'the record again' });
      expect(seen).toEqual(['a']);
    });

    test('stopping lets the current batch finish, and the batch is handled once', async () => {
      const handled: string[] = [];
      let finishHandling = () => {};
      let started = false;
      const consumer = consume(async (records) => {
        started = true;
        await new Promise<void>((resolve) => {
          finishHandling = resolve;
        });
        handled.push(...records.map(text));
      });
      const published = publish(0, 'a');
      await waitUntil(() => started, { what: 'the batch to start' });
      let ended = false;
      consumer.abort.abort();
      void consumer.ended.then(() => {
        ended = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      expect(ended).toBe(false);
      finishHandling();
      await consumer.ended;
      await published;
      expect(handled).toEqual(['a']);
      consume(async (records) => void handled.push(...records.map(text)));
      await publish(0, 'b');
      await waitUntil(() => handled.length > 1, { what: 'the next record' });
      expect(handled).toEqual(['a', 'b']);
    });

    test('publish() rejects when its signal has aborted', async () => {
      const records = [record('a')];
      await expect(
        bus.publish({ topic, partition: 0, records }, AbortSignal.abort(new Error('enough'))),
      ).rejects.toThrow('enough');
    });

    test('onJoined is called when a consumer has joined', async () => {
      let joined = 0;
      const abort = new AbortController();
      const ended = bus.consume({ topic, group, onBatch: async () => {}, onJoined: () => joined++ }, abort.signal);
      consumers.push({ abort, ended });
      await waitUntil(() => joined === 1, { what: 'the consumer to join' });
    });

    test('the lag of a group is the number of its unhandled records', async () => {
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const seen: ConsumedRecord[] = [];
      consume(async (records) => {
        await held;
        seen.push(...records);
      });
      const lag = async () => (await bus.lag(topic, group)).reduce((sum, { records }) => sum + records, 0);
      const published = [publish(0, 'a', 'b'), publish(1, 'c')];
      // The in-process bus stores nothing: publish() waits for the handlers.
      const behind = name === 'Kafka' ? 3 : 0;
      await waitUntil(async () => (await lag()) === behind, { what: 'the lag' });
      release();
      await Promise.all(published);
      await waitUntil(() => seen.length === 3, { what: 'all records' });
      await waitUntil(async () => (await lag()) === 0, { what: 'no more lag' });
    });

    test('it is healthy while it runs', async () => {
      expect(await bus.healthy()).toBe(true);
    });
  });
}

export function record(value: string): BusRecord {
  return { key: 'res_1', value: Buffer.from(value), headers: {} };
}

export function text({ value }: BusRecord): string {
  return Buffer.from(value).toString();
}
