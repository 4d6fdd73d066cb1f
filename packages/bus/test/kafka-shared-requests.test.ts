import { createLogger } from '@rms/runtime/logging';
import type { ProducerBatch, ProducerRecord } from 'kafkajs';
import type { Leaders } from '../src/kafka-leaders.ts';
import { createKafkaPublish } from '../src/kafka-producer.ts';
import { record } from './conformance.ts';

const log = createLogger({ name: 'bus', level: 'silent' });
const never = new AbortController().signal;

/**
 * Records the partitions of each kafkajs send. Partitions 0 and 1 share a leader, 2 and 3 share another; the leader of
 * 9 is unknown.
 */
function start(takes: (partitions: number[]) => boolean = () => true) {
  const [together, alone, refreshed]: [number[][], number[], string[]] = [[], [], []];
  const leaders: Leaders = {
    of: ({ partition }) => ({ 0: 1, 1: 1, 2: 2, 3: 2 })[partition],
    refresh: (topic) => void refreshed.push(topic),
  };
  const acknowledge = ({ topic, messages }: Pick<ProducerRecord, 'topic' | 'messages'>) =>
    [...new Set(partitionsOf({ messages }))].map((partition) => ({ topicName: topic, partition, errorCode: 0 }));
  const partitionsOf = ({ messages }: Pick<ProducerRecord, 'messages'>) => messages.map((one) => one.partition ?? -1);
  const retrying = {
    async send(sent: ProducerRecord) {
      alone.push(...new Set(partitionsOf(sent)));
      return acknowledge(sent);
    },
  };
  const once = {
    async sendBatch({ topicMessages = [] }: ProducerBatch) {
      const partitions = topicMessages.flatMap(partitionsOf);
      together.push(partitions);
      if (!takes(partitions)) throw new Error('this is not a leader for that topic-partition');
      return topicMessages.flatMap(acknowledge);
    },
  };
  const publish = createKafkaPublish({ retrying, once, leaders, onMissing: () => {}, log });
  const publishAll = (...partitions: number[]) =>
    Promise.all(partitions.map((partition) => publish({ topic: 't', partition, records: [record('a')] }, never)));
  return { together, alone, refreshed, publishAll };
}

test('concurrent batches share a request per leader; a single batch is sent alone', async () => {
  const { together, alone, publishAll } = start();
  await publishAll(0, 1, 2, 3, 9);
  expect({ together, alone }).toEqual({
    together: [
      [0, 1],
      [2, 3],
    ],
    alone: [9],
  });
  await publishAll(2);
  expect(alone).toEqual([9, 2]);
});

test('batches of a failed shared request are sent alone, without delaying others', async () => {
  const { together, alone, refreshed, publishAll } = start((partitions) => !partitions.includes(0));
  await publishAll(0, 1, 2, 3);
  expect(together).toHaveLength(2);
  expect(alone.sort()).toEqual([0, 1]);
  expect(refreshed).toEqual(['t']);
});

test('a partition that was not acknowledged is not published, although kafkajs reports success', async () => {
  const send = async ({ topic }: ProducerRecord) => [{ topicName: topic, partition: 1, errorCode: 0 }];
  const sendBatch = async () => [{ topicName: 't', partition: 1, errorCode: 0 }];
  const stop = new AbortController();
  let missing = 0;
  const onMissing = () => {
    missing += 1;
    stop.abort(new Error('enough'));
  };
  const leaders: Leaders = { of: () => 1, refresh: () => {} };
  const publish = createKafkaPublish({ retrying: { send }, once: { sendBatch }, leaders, onMissing, log });
  const publishing = [1, 2].map((partition) => publish({ topic: 't', partition, records: [record('a')] }, stop.signal));
  await expect(Promise.all(publishing)).rejects.toThrow('topic t has no partition 2');
  await publishing[0];
  expect(missing).toBe(1);
});

test('a partition has one send in flight: its next batch waits', async () => {
  const { together, publishAll } = start();
  await publishAll(0, 1, 0, 1);
  expect(together).toEqual([
    [0, 1],
    [0, 1],
  ]);
});
