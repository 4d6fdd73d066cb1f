import { EventEmitter } from 'node:events';
import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { createClusterServers } from '../../src/cluster-servers.ts';

/** A node in a cluster of two primaries. Its connection opens immediately. */
class Node extends EventEmitter {
  status = 'wait';
  readonly options = {};
  readonly #read: () => object[];

  constructor(read: () => object[]) {
    super();
    this.#read = read;
  }
  async connect() {
    this.status = 'ready';
    this.emit('ready');
  }
  disconnect() {
    this.status = 'end';
    this.emit('close');
  }
  pipeline(): object {
    const exec = async () => this.#read();
    const pipeline: object = new Proxy({}, { get: (_, name) => (name === 'exec' ? exec : () => pipeline) });
    return pipeline;
  }
}

test('100,000 readings of the map of a Redis Cluster, whose slots move, leave nothing behind', async () => {
  let reads = 0;
  let attached = 0;
  const log = createLogger({ name: 'limiter', level: 'silent' });
  // Every tenth reading has another second primary, and every hundredth one fails.
  const read = () => {
    reads += 1;
    if (reads % 100 === 0)
      return [
        [new Error('it failed'), null],
        [null, []],
      ];
    const other = 1 + (Math.floor(reads / 10) % 2);
    return [
      [null, `cluster_current_epoch:${reads}`],
      [
        null,
        [
          [0, 8_191, ['10.0.0.0', 6_379]],
          [8_192, 16_383, [`10.0.0.${other}`, 6_379]],
        ],
      ],
    ];
  };
  const servers = createClusterServers({ url: 'redis://10.0.0.0' }, log, () => new Node(read) as never);
  servers.onServer(() => {
    attached += 1;
    return () => {
      attached -= 1;
    };
  });
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    await servers.connect();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    servers.disconnect();
  });
  expect(reads).toBeGreaterThan(50_000);
  expect(attached).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});
