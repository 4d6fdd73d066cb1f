import { createLogger } from '@rms/runtime/logging';
import { superviseWorkers } from '@rms/runtime/service';
import { describeWith, type Kafka, startKafka, waitUntil } from '@rms/testkit';
import { createKafkaBus } from '../../src/kafka-bus.ts';
import { record, text } from '../conformance.ts';

const log = createLogger({ name: 'bus', level: 'silent' });
const topic = 'rms.test';
const partitions = 6;
const never = new AbortController().signal;

// Uses its own brokers, because it kills them. If the shared Kafka is available, this machine can run a broker.
describeWith('kafka', 'the Kafka bus when a broker is killed', () => {
  let kafka: Kafka;
  afterEach(() => kafka.stop());

  /** Opens a bus with a supervised consumer, and returns the handled records. */
  const open = async (replication: number) => {
    const bus = createKafkaBus({ brokers: kafka.brokers.split(','), clientId: 'rms-test', log });
    await bus.start([{ topic, partitions, replication }]);
    const seen: string[] = [];
    const onBatch = async (records: Parameters<typeof text>[0][]) => void seen.push(...records.map(text));
    const consumer = {
      name: 'consumer',
      run: (signal: AbortSignal) =>
        bus.consume({ topic, group: 'rms-test', onBatch: (records) => onBatch([...records]) }, signal),
    };
    const workers = superviseWorkers([consumer], log);
    /** Publishes a batch until it is acknowledged. */
    const publish = async (n: number) => {
      for (;;) {
        try {
          return await bus.publish({ topic, partition: n % partitions, records: [record(String(n))] }, never);
        } catch {}
      }
    };
    const close = async () => {
      await workers.stop();
      await bus.stop();
    };
    return { bus, seen, publish, close };
  };
  /**
   * Publishes one batch per partition concurrently, as the relay does; batches with the same leader share a request.
   */
  const publishInOrder = async (publish: (n: number) => Promise<void>, from: number, to: number) => {
    for (let n = from; n < to; n += partitions) {
      await Promise.all(Array.from({ length: partitions }, (_, i) => publish(n + i)));
    }
  };
  const complete = (seen: readonly string[], total: number) =>
    waitUntil(() => new Set(seen).size === total, { what: `${total} records` });

  test('the only broker is killed and restarted: no acknowledged record is lost, and the consumer continues', async () => {
    kafka = await startKafka({ brokers: 1 });
    const { bus, seen, publish, close } = await open(1);
    await publishInOrder(publish, 0, 120);
    await complete(seen, 120);
    const publishing = publishInOrder(publish, 120, 600);
    await kafka.kill(0);
    await waitUntil(async () => !(await bus.healthy()), { what: 'the bus to become unhealthy' });
    await kafka.restart(0);
    await publishing;
    await complete(seen, 600);
    await waitUntil(() => bus.healthy(), { what: 'the bus to be healthy again' });
    await close();
  });

  test('one of three brokers is killed permanently: publishing and consuming continue', async () => {
    kafka = await startKafka({ brokers: 3 });
    const { seen, publish, close } = await open(3);
    await publishInOrder(publish, 0, 120);
    await complete(seen, 120);
    const publishing = publishInOrder(publish, 120, 1_200);
    await kafka.kill(1);
    await publishing;
    await complete(seen, 1_200);
    await close();
  });
});
