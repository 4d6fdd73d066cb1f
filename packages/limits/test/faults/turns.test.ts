import { EventEmitter } from 'node:events';
import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { createRedisWatch } from '../../src/redis-watch.ts';

/** Responses to a watch pipeline: epoch, run ID, confirmation and members. */
const responses = [
  [null, 'OK'],
  [null, 'epoch'],
  [null, 'run_id:abc'],
  [null, null],
  [null, -2],
  [null, 1],
];

/** A connection with probes that succeed, or fail every other time. */
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
  const redis = new Connection(isFlaky) as never;
  const log = createLogger({ name: 'limiter', level: 'silent' });
  const watch = createRedisWatch(
    { redis, log, ownKey: (name) => name },
    { isMember: () => true, markersLost: () => {}, failed: () => {}, restMs: 60_000 },
  );
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    await watch.start();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    watch.stop();
  });
  expect(bytesPerTurn).toBeLessThan(16);
});
