import { createLogger } from '@rms/service';
import type { ProducerBatch, ProducerRecord } from 'kafkajs';
import type { Leaders } from '../src/kafka-leaders.ts';
import { createKafkaPublish } from '../src/kafka-producer.ts';
import { record } from './conformance.ts';

const log = createLogger({ name: 'bus', level: 'silent' });
const never = new AbortController().signal;

/** What reaches kafkajs: the partitions of each send. Partitions 0 and 1 have one leader, 2 has another; 9 is not known. */
function start(takes: (partitions: number[]) => boolean = () => true) {
  const [together, alone, refreshed]: [number[][], number[], string[]] = [[], [], []];
  const leaders: Leaders = {
    of: ({ partition }) => ({ 0: 1, 1: 1, 2: 2, 3: 2 })[partition],
    refresh: (topic) => void refreshed.push(topic),
  };
  const partitionsOf = ({ messages }: Pick<ProducerRecord, 'messages'>) => messages.map((one) => one.partition ?? -1);
  const retrying = {
    async send(sent: ProducerRecord) {
      alone.push(...new Set(partitionsOf(sent)));
      return [];
    },
  };
  const once = {
    async sendBatch({ topicMessages = [] }: ProducerBatch) {
      const partitions = topicMessages.flatMap(partitionsOf);
      together.push(partitions);
      if (!takes(partitions)) throw new Error('this is not a leader for that topic-partition');
      return [];
    },
  };
  const publish = createKafkaPublish({ retrying, once, leaders, log });
  const publishAll = (...partitions: number[]) =>
    Promise.all(partitions.map((partition) => publish({ topic: 't', partition, records: [record('a')] }, never)));
  return { together, alone, refreshed, publishAll };
}

test('batches that are published at once share a request for each leader; one without company goes by itself', async () => {
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

test('what was not taken together is sent by itself, and others are not held up by it', async () => {
  const { together, alone, refreshed, publishAll } = start((partitions) => !partitions.includes(0));
  await publishAll(0, 1, 2, 3);
  expect(together).toHaveLength(2);
  expect(alone.sort()).toEqual([0, 1]);
  expect(refreshed).toEqual(['t']);
});

test('a partition has one send under way: its next batch follows', async () => {
  const { together, publishAll } = start();
  await publishAll(0, 1, 0, 1);
  expect(together).toEqual([
    [0, 1],
    [0, 1],
  ]);
});
