import { createDatabaseWatch, createQueue } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import type { Worker } from '@rms/runtime/service';
import { createEmptyPool, turnLoop } from '@rms/testkit';
import { createReplayer } from '../../src/delivery/replayer.ts';
import { DeliveryEngine } from '../../src/engine/engine.ts';
import { createRecorder, type Recording } from '../../src/engine/record/recorder.ts';
import { createDeferredFanOut } from '../../src/event/deferred-fan-out.ts';
import { createHousekeeping } from '../../src/housekeeping.ts';
import { createNoticeRelay } from '../../src/notices/notice-relay.ts';

const pool = createEmptyPool();
const log = createLogger({ name: 'webhooks', level: 'silent' });
const queue = createQueue();
const watched = {
  query: async () => ({ rows: [{ nowMs: 0, readOnly: 'off', queue: true }], rowCount: 1 }),
  on: () => {},
  off: () => {},
};
const unused = {} as never;

/** The endless loops of the service, on empty tables; fan-out waits for Kafka only. */
const workers: readonly Worker[] = [
  createDatabaseWatch(watched as never, { queue: 'select' }).worker,
  createDeferredFanOut({ pool, queue, engine: unused, time: unused, metrics: unused, usage: unused, log }),
  createReplayer({ pool, queue, engine: unused, log }),
  createNoticeRelay({ pool, queue, bus: unused, topic: 't', log }),
  createHousekeeping({
    pool,
    lanes: queue,
    endCounts: queue,
    log,
    metrics: createMetrics('webhooks'),
    eraseOnDelete: true,
    retentionDays: 7,
    counters: [],
    reportRejected: () => {},
  }),
  new DeliveryEngine({
    pool,
    keyedPool: pool,
    scheduled: queue,
    agents: unused,
    secrets: unused,
    health: unused,
    endings: unused,
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

test('100,000 tries to record a result during an outage of the database leave nothing behind', async () => {
  let tries = 0;
  const outage = async () => {
    tries += 1;
    throw Object.assign(new Error('the database system is starting up'), { code: '57P03' });
  };
  const recorder = createRecorder({
    pool: { query: outage, connect: outage } as never,
    log,
    onFreed: () => {},
    counters: [],
  });
  const recording = {
    job: { workspaceId: 'ws_1', environment: 'live', id: 'del_1', lease: 1, tries: 0, endpoint: { url: 'https://a' } },
    result: {
      startedAt: new Date(),
      statusCode: 200,
      error: '',
      durationMs: 1,
      timings: {},
      requestHeaders: [],
      responseHeaders: [],
      responseBody: Buffer.alloc(0),
    },
    settlement: { status: 'delivered' },
  } as unknown as Recording;
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    const recorded = recorder.record(recording).catch(() => {});
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    recorder.stop();
    await recorded;
  });
  expect(tries).toBeGreaterThan(50_000);
  expect(bytesPerTurn).toBeLessThan(16);
});
