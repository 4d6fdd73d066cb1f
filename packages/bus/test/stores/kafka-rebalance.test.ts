import { randomUUID } from 'node:crypto';
import { createLogger } from '@rms/runtime/logging';
import { describeWith, testServer, waitUntil } from '@rms/testkit';
import type { ConsumedRecord, EventBus } from '../../src/event-bus.ts';
import { createKafkaBus } from '../../src/kafka-bus.ts';
import { record } from '../conformance.ts';

const partitions = 3;
const never = new AbortController().signal;

describeWith('kafka', 'a group whose members change while batches are in work', () => {
  let topic: string;
  let lines: string[];
  /** Instances by name. */
  let members: Map<string, { bus: EventBus; abort: AbortController; ended: Promise<void>; joins: number }>;
  /** Batches with running handlers, by instance. */
  let inWork: string[];
  /** Records of finished batches, in the order of the batches' ends. */
  let handled: { by: string; partition: number; value: number }[];
  /** Handlers wait for it. */
  let hold: Promise<void>;
  let release: () => void;
  let published: number;

  beforeEach(() => {
    topic = `rms.test.${randomUUID()}`;
    [lines, members, inWork, handled, published] = [[], new Map(), [], [], 0];
    hold = Promise.resolve();
    release = () => {};
  });
  afterEach(async () => {
    release();
    await Promise.all([...members.keys()].map(leave));
  });

  const log = createLogger({ name: 'bus', level: 'warn', destination: { write: (line) => void lines.push(line) } });
  const holdBatches = () => {
    hold = new Promise((resolve) => {
      release = resolve;
    });
  };
  const onBatch = (by: string) => async (records: readonly ConsumedRecord[], signal: AbortSignal) => {
    inWork.push(by);
    try {
      await Promise.race([hold, new Promise((_, reject) => signal.addEventListener('abort', reject, { once: true }))]);
      signal.throwIfAborted();
      for (const { partition, value } of records)
        handled.push({ by, partition, value: Number(Buffer.from(value).toString()) });
    } finally {
      inWork.splice(inWork.indexOf(by), 1);
    }
  };
  const join = async (name: string) => {
    const bus = createKafkaBus({ brokers: testServer('kafka').split(','), clientId: name, log });
    await bus.start([{ topic, partitions }]);
    const abort = new AbortController();
    const onJoined = () => {
      member.joins += 1;
    };
    const subscription = { topic, group: topic, onBatch: onBatch(name), onJoined };
    const member = { bus, abort, ended: Promise.resolve(), joins: 0 };
    members.set(name, member);
    member.ended = bus.consume(subscription, abort.signal);
    return member;
  };
  const leave = async (name: string) => {
    const member = members.get(name);
    if (!member) return;
    members.delete(name);
    member.abort.abort(new Error('leaving'));
    await member.ended;
    await member.bus.stop();
  };
  /** Publishes a batch to each partition. */
  const publish = async (bus: EventBus) => {
    const values = Array.from({ length: 20 }, (_, i) => String(published + i));
    published += values.length;
    for (let partition = 0; partition < partitions; partition += 1)
      await bus.publish({ topic, partition, records: values.map(record) }, never);
  };
  const until = (what: string, check: () => boolean) => waitUntil(check, { what });
  const valuesOf = (partition: number) =>
    handled.filter((one) => one.partition === partition).map(({ value }) => value);
  const untilAllHandled = () =>
    until('all records to be handled', () =>
      [0, 1, 2].every((partition) => new Set(valuesOf(partition)).size === published),
    );
  const untilInWork = (name: string) => until(`a batch of ${name} to be in work`, () => inWork.includes(name));

  test('nothing is lost, the order is kept, and batches that were not in work are handled once', async () => {
    const one = await join('one');
    await publish(one.bus);
    await untilAllHandled();

    holdBatches();
    await publish(one.bus);
    await untilInWork('one');
    const two = await join('two');
    await until('both to have joined', () => one.joins === 2 && two.joins === 1);
    release();
    await untilAllHandled();
    expect(handled.some(({ by }) => by === 'two')).toBe(true);

    holdBatches();
    await publish(one.bus);
    await untilInWork('two');
    await leave('two');
    await until('one to have all partitions', () => one.joins === 3);
    release();
    await untilAllHandled();

    const expected = Array.from({ length: published }, (_, i) => i);
    for (const partition of [0, 1, 2]) expect(valuesOf(partition)).toEqual(expected);
    expect(lines).toEqual([]);
  });
});
