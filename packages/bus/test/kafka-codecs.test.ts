import { snappyCompress } from 'hysnappy';
import kafkajs from 'kafkajs';
import { installCodecs } from '../src/kafka-codecs.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;

beforeAll(installCodecs);

test('a snappy batch without framing, as librdkafka writes it, is decompressed', async () => {
  const records = Buffer.from('abc'.repeat(10_000));
  const codec = CompressionCodecs[CompressionTypes.Snappy]();
  expect(records.equals(await codec.decompress(Buffer.from(snappyCompress(records))))).toBe(true);
});

test.each([
  ['snappy', CompressionTypes.Snappy],
  ['lz4', CompressionTypes.LZ4],
  ['zstd', CompressionTypes.ZSTD],
] as const)('an invalid %s batch is rejected with the name of the codec, without retries', async (name, type) => {
  const decompressing = CompressionCodecs[type as typeof CompressionTypes.ZSTD]().decompress(Buffer.from('invalid'));
  await expect(decompressing).rejects.toMatchObject({
    name: 'KafkaJSNotImplemented',
    message: `the batch is not valid ${name} data`,
  });
});
