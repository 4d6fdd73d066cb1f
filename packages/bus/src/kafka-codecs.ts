/// <reference path="./lz4js.d.ts" />
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';
import { UnreadableBatchError } from './kafka-errors.ts';

// Node finds no named exports for these.
const { CompressionCodecs, CompressionTypes } = kafkajs;

type Decompress = (data: Buffer) => Promise<Uint8Array>;

const unzstd = promisify(zstdDecompress);
/** Start of the framing of snappy-java, which Kafka uses: 8 bytes of magic, then two 32-bit versions. */
const xerialMagic = Buffer.from('\x82SNAPPY\0', 'latin1');
const xerialHeaderBytes = xerialMagic.length + 8;

let isInstalled = false;

/**
 * Lets kafkajs 2.2.4 read batches with every codec of Kafka; by itself it reads only gzip. The services publish
 * uncompressed batches, but a topic or broker with another `compression.type` than `producer` compresses them again.
 * The decoders of snappy and lz4 are loaded with the first batch that needs them.
 *
 * Applies to the whole process. createKafkaClient() calls it, so that importing this package changes nothing.
 */
export function installCodecs(): void {
  if (isInstalled) return;
  isInstalled = true;
  const install = (type: kafkajs.CompressionTypes, name: string, decompress: Decompress) => {
    CompressionCodecs[type as typeof CompressionTypes.ZSTD] = () => ({
      decompress: (data: Buffer) =>
        decompress(data).then(
          (records) => Buffer.from(records.buffer, records.byteOffset, records.byteLength),
          (cause: unknown) => {
            throw new UnreadableBatchError(`the batch is not valid ${name} data`, { cause });
          },
        ),
    });
  };
  install(CompressionTypes.Snappy, 'snappy', decompressSnappy);
  install(CompressionTypes.LZ4, 'lz4', async (data) => (await import('lz4js')).decompress(data));
  install(CompressionTypes.ZSTD, 'zstd', unzstd);
}

/** Decompresses a raw snappy block, as librdkafka writes it, or the framed blocks of snappy-java. */
async function decompressSnappy(data: Buffer): Promise<Uint8Array> {
  const { snappyUncompressor } = await import('hysnappy');
  const uncompress = snappyUncompressor();
  if (!data.subarray(0, xerialMagic.length).equals(xerialMagic)) return uncompress(data, lengthOf(data));
  const blocks: Uint8Array[] = [];
  for (let at = xerialHeaderBytes; at < data.length; ) {
    const end = at + 4 + data.readInt32BE(at);
    const block = data.subarray(at + 4, end);
    blocks.push(uncompress(block, lengthOf(block)));
    at = end;
  }
  return Buffer.concat(blocks);
}

/** Reads the uncompressed length of a snappy block: the varint at its start. */
function lengthOf(block: Uint8Array): number {
  let length = 0;
  for (const [i, byte] of block.subarray(0, 5).entries()) {
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return length;
  }
  throw new Error('the block has no length');
}
