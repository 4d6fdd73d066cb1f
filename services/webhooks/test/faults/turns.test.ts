import { createDatabaseTime } from '@rms/db';
import { createLogger } from '@rms/logging';
import type { Worker } from '@rms/service';
import { createEmptyPool, turnLoop } from '@rms/testkit';
import { createDeliveryEngine } from '../../src/delivery/engine.ts';
import { createDeferredFanOut } from '../../src/fan-out/deferred-fan-out.ts';
import { createNoticeRelay } from '../../src/notices/notice-relay.ts';
import { createReplayer } from '../../src/replay/replayer.ts';

const pool = createEmptyPool();
const log = createLogger({ name: 'webhooks', level: 'silent' });
const clock = { query: async () => ({ rows: [{ ms: 0 }], rowCount: 1 }) };
const unused = {} as never;

/** The endless loops of the service, on empty tables; fan-out waits for Kafka only. */
const workers: readonly Worker[] = [
  createDatabaseTime(clock as never).reader,
  createDeferredFanOut({ pool, engine: unused, time: unused, metrics: unused, log }),
  createReplayer({ pool, engine: unused, log }),
  createNoticeRelay({ pool, bus: unused, topic: 't', log }),
  createDeliveryEngine({
    pool,
    keyedPool: pool,
    agents: unused,
    secrets: unused,
    health: unused,
    counters: [],
    report: unused,
    reportRejected: () => {},
    log,
    releaseLeases: false,
  }),
];

test.each(workers.map((worker) => [worker.name, worker] as const))(
  '100,000 turns of the worker "%s" leave nothing behind',
  async (_, worker) => {
    const { listeners, bytesPerTurn } = await turnLoop((signal) => worker.run(signal));
    expect(listeners).toBe(0);
    expect(bytesPerTurn).toBeLessThan(16);
  },
);
