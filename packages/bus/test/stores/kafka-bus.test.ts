import { randomUUID } from 'node:crypto';
import { createLogger } from '@rms/runtime/logging';
import { describeWith, freePort, testServer } from '@rms/testkit';
import { createKafkaBus } from '../../src/kafka-bus.ts';
import { describeEventBus, record } from '../conformance.ts';

const log = createLogger({ name: 'bus', level: 'silent' });
const create = (at: readonly string[] = testServer('kafka').split(',')) =>
  createKafkaBus({ brokers: at, clientId: 'rms-test', log });

describeWith('kafka', 'on Kafka', () => describeEventBus('Kafka', () => create()));

describeWith('kafka', 'the Kafka bus', () => {
  test('batches of different partitions are published concurrently, each partition in order', async () => {
    const topic = `rms.test.${randomUUID()}`;
    const bus = create();
    await bus.start([{ topic, partitions: 3 }]);
    const abort = new AbortController();
    const seen = new Map<number, string[]>([0, 1, 2].map((partition) => [partition, []]));
    const expected = Array.from({ length: 200 }, (_, i) => String(i));
    const all = new Promise<void>((resolve) => {
      void bus
        .consume(
          {
            topic,
            group: topic,
            onBatch: async (records) => {
              for (const { partition, value } of records) seen.get(partition)?.push(Buffer.from(value).toString());
              if ([...seen.values()].every((values) => values.length >= 200)) resolve();
            },
          },
          abort.signal,
        )
        .then(
          () => {},
          () => {},
        );
    });
    await Promise.all(
      [0, 1, 2].map(async (partition) => {
        for (let start = 0; start < 200; start += 20) {
          await bus.publish({ topic, partition, records: expected.slice(start, start + 20).map(record) }, abort.signal);
        }
      }),
    );
    await all;
    for (const values of seen.values()) expect(values).toEqual(expected);
    abort.abort();
    await bus.stop();
  });

  test('rejects a topic with a different number of partitions', async () => {
    const topic = `rms.test.${randomUUID()}`;
    const first = create();
    await first.start([{ topic, partitions: 2 }]);
    await first.stop();
    const warnings: string[] = [];
    const destination = { write: (line: string) => void warnings.push(line) };
    const bus = createKafkaBus({
      brokers: testServer('kafka').split(','),
      clientId: 'rms-test',
      log: createLogger({ name: 'bus', destination }),
    });
    const starting = bus.start([{ topic, partitions: 4 }]);
    const publishing = bus.publish({ topic, partition: 0, records: [record('a')] }, AbortSignal.timeout(1_000));
    await expect(publishing).rejects.toThrow();
    await bus.stop();
    await starting.catch(() => {});
    expect(warnings.join()).toContain(`topic ${topic} has 2 partitions, but EVENT_PARTITIONS is 4`);
  });

  test('without brokers start() resolves, publish() honors its signal, and the bus is unhealthy', async () => {
    const bus = create([`127.0.0.1:${await freePort()}`]);
    const starting = bus.start([{ topic: 't', partitions: 1 }]);
    const publishing = bus.publish({ topic: 't', partition: 0, records: [record('a')] }, AbortSignal.timeout(200));
    await expect(publishing).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await bus.healthy()).toBe(false);
    await starting;
    await bus.stop();
  });

  test('consume() resolves when its signal aborts while the brokers are unreachable', async () => {
    const bus = create([`127.0.0.1:${await freePort()}`]);
    const starting = bus.start([{ topic: 't', partitions: 1 }]);
    const signal = AbortSignal.timeout(100);
    await bus.consume({ topic: 't', group: 'g', onBatch: async () => {} }, signal);
    expect(signal.aborted).toBe(true);
    await starting;
    await bus.stop();
  });
});
