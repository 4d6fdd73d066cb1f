import { EventEmitter } from 'node:events';
import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { createClusterServers } from '../../src/cluster-servers.ts';
import { createRedisWatch } from '../../src/redis-watch.ts';

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

/** Responses of a watch pipeline: epoch, run ID, confirmation and members. */
const responses = [
  [null, 'OK'],
  [null, 'epoch'],
  [null, 'run_id:abc'],
  [null, null],
  [null, -2],
  [null, 1],
];

/** A connection whose probes succeed, or fail every other time. */
class Connection extends EventEmitter {
  readonly status = 'ready';
  readonly options = {};
  readonly #isFlaky: boolean;
  #probes = 0;

  constructor(isFlaky: boolean) {
    super();
    this.#isFlaky = isFlaky;
  }
  async time() {
    this.#probes += 1;
    if (this.#isFlaky && this.#probes % 2 === 0) throw new Error('it failed');
    return ['1', '0'];
  }
  async call() {
    return 'OK';
  }
  pipeline(): object {
    const exec = async () => responses;
    const pipeline: object = new Proxy({}, { get: (_, name) => (name === 'exec' ? exec : () => pipeline) });
    return pipeline;
  }
}

test.each([
  ['that succeed', false],
  ['of which every other one fails', true],
])('100,000 probes of Redis %s leave nothing behind', async (_, isFlaky) => {
  const redis = new Connection(isFlaky);
  const log = createLogger({ name: 'limiter', level: 'silent' });
  const watch = createRedisWatch(
    { redis: redis as never, log, ownKey: (name) => name },
    { isMember: () => true, markersLost: () => {}, failed: () => {}, restMs: 60_000, markersTrustMs: 6_000 },
  );
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    redis.emit('ready');
    await watch.start();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    watch.stop();
  });
  expect(bytesPerTurn).toBeLessThan(16);
});
