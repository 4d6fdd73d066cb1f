import { createSecretBox } from '@rms/base/secrets';
import { createDatabaseWatch, createQueue } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import type { Worker } from '@rms/runtime/service';
import { createEmptyPool, turnLoop } from '@rms/testkit';
import { createEmailSender } from '../../src/email/sender.ts';
import { createEvaluator } from '../../src/evaluate/evaluator.ts';
import { createKeySweep } from '../../src/evaluate/key-sweep.ts';
import { createHousekeeping } from '../../src/housekeeping.ts';
import { createAlertsMetrics } from '../../src/metrics.ts';
import { createAccountEmails } from '../../src/notify/account-emails.ts';
import { createNotifier } from '../../src/notify/notifier.ts';
import { createQuotaKeeper } from '../../src/usage/quota-keeper.ts';

const pool = createEmptyPool();
const log = createLogger({ name: 'alerts', level: 'silent' });
const registry = createMetrics('alerts');
const metrics = createAlertsMetrics(registry);
const box = createSecretBox(Buffer.alloc(32, 1));
const dashboardUrl = 'https://dashboard.example.com';
const onEmails = () => {};
const { time } = createDatabaseWatch(pool, {});
const queue = createQueue();
const listWorkspaces = async () => ({ workspaces: [], nextPageToken: '' }) as never;
const listKeys = async () => ({ keys: [], nextPageToken: '' }) as never;
const auth = { leaseEmailRequests: async () => ({ emailRequests: [] }) as never, deleteEmailRequests: listKeys };
const limiter = { raiseQuotas: async () => {}, onMarkersLost: () => () => {} };

const pages = { queue: async () => {}, queueEnds: async () => {}, wake() {} };

/** The endless loops of the service, on empty tables; the notice consumer waits for Kafka only. */
const workers: readonly Worker[] = [
  createEvaluator({
    pool,
    queue,
    log,
    now: Date.now,
    everyMs: 10_000,
    gatherMs: 60_000,
    onNotices: () => {},
    pages,
    metrics,
  }),
  createKeySweep({
    pool,
    keys: { listKeys },
    workspaces: { listWorkspaces },
    log,
    everyMs: 3_600_000,
    time,
  }),
  createNotifier({
    pool,
    queue,
    workspaces: {} as never,
    recipients: {} as never,
    requests: {} as never,
    box,
    unsubscribeKeys: [Buffer.alloc(32, 2)],
    dashboardUrl,
    log,
    time,
    gatherMs: 60_000,
    pollMs: 2_000,
    onEmails,
  }),
  createAccountEmails({ pool, auth, box, dashboardUrl, log, time, onEmails }),
  createEmailSender({ pool, queue, box, deliver: {} as never, sender: {} as never, metrics, log, time, pollMs: 2_000 }),
  createQuotaKeeper({ pool, limiter, log, now: Date.now }),
  createHousekeeping({ pool, log, metrics: registry }),
];

test.each(workers.map((worker) => [worker.name, worker] as const))(
  '100,000 turns of the worker "%s" leave nothing behind',
  async (_, worker) => {
    const { listeners, bytesPerTurn } = await turnLoop((signal) => worker.run(signal));
    expect(listeners).toBe(0);
    expect(bytesPerTurn).toBeLessThan(16);
  },
);
