import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { movableClock, perTest } from '@rms/testkit';
import { takeReplay } from '../src/delivery/replayer.ts';
import { createInstances } from '../src/engine/lease/instances.ts';
import { repairSchedule, saveEndpoints } from '../src/engine/lease/schedule-queries.ts';
import { disableWebhook } from '../src/engine/record/endpoint-health.ts';
import { recordAttempts } from '../src/engine/record/recorder.ts';
import { createHousekeeping } from '../src/housekeeping.ts';
import { responded, type Steps, stepsOn } from './leases.ts';
import { newEvent, newEvents, newTenant, type Tenant, webhooksDatabase } from './support.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('the clock of PostgreSQL', () => {
  let setAhead: (aheadMs: number) => Promise<void>;
  let steps: Steps;
  let tenant: Tenant;
  const database = perTest(webhooksDatabase);
  beforeEach(async () => {
    setAhead = await movableClock(database);
    steps = stepsOn(database.pool);
    tenant = newTenant();
  });

  /** Runs every housekeeping task once, as a restarted instance. Returns its metrics. */
  const housekeep = async () => {
    const metrics = createMetrics('webhooks');
    const log = createLogger({ name: 'webhooks', level: 'silent' });
    const parts = {
      pool: database.pool,
      lanes: { mayHaveRows: true },
      endCounts: { mayHaveRows: true },
      log,
      metrics,
      eraseOnDelete: false,
      retentionDays: 30,
      counters: [],
      reportRejected() {},
    };
    await createHousekeeping(parts).pass(new AbortController().signal);
    return metrics.metrics();
  };
  /** Counts events, queued and logged deliveries, idempotency keys and replays. */
  const stored = async () => {
    const { rows } = await database.pool.query<{ counts: number[] }>(
      `select array[(select count(*) from webhooks.events), (select count(*) from webhooks.deliveries),
                    (select count(*) from webhooks.delivery_log), (select count(*) from webhooks.idempotency_keys),
                    (select count(*) from webhooks.replays)]::integer[] as counts`,
    );
    return rows[0]?.counts ?? [];
  };

  test('a clock that is 40 days ahead during a pass of housekeeping deletes and ends nothing', async () => {
    const webhookId = await steps.subscribe(tenant);
    const jobs = await steps.store(newEvents(tenant, 10), 10);
    await recordAttempts(
      database.pool,
      jobs.slice(0, 5).map((job) => responded(job, 200)),
    );
    await database.pool.query(
      `insert into webhooks.idempotency_keys (workspace_id, environment, key, fingerprint, answer, expires_at)
       values ($1, 'live', 'k', '', '', now() + interval '24 hours')`,
      [tenant.workspaceId],
    );
    await database.pool.query(
      `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, since, until, per_second, status,
                                     total, created_by, created_at)
       values ($1, 'live', 'rep_1', $2, '{failed}', now(), now(), 1, 'done', 0, '', now())`,
      [tenant.workspaceId, webhookId],
    );
    await database.pool.query('update webhooks.webhooks set failing_since = now()');
    expect(await housekeep()).toMatch(/rms_database_clock_ahead_seconds\{[^}]*\} 0\n/);
    const before = await stored();
    expect(before).toEqual([10, 5, 5, 1, 1]);

    await setAhead(40 * dayMs);
    expect(await housekeep()).toMatch(/rms_database_clock_ahead_seconds\{[^}]*\} 34\d{5}/);
    expect(await stored()).toEqual(before);
    const ref = { workspaceId: tenant.workspaceId, environment: 'live', webhookId, requestId: 'req_1' } as const;
    const failing = { url: 'https://example.com/', reason: 'failing', failingForHours: 120 } as const;
    expect(await disableWebhook(database.pool, ref, failing)).toBe(false);

    await setAhead(0);
    await housekeep();
    expect(await stored()).toEqual(before);
    await steps.store([newEvent(tenant)]);
    expect((await stored())[0]).toBe(11);
  });

  test('that is set back by an hour does not stop a webhook with a limit per second', async () => {
    await setAhead(hourMs);
    await steps.subscribe(tenant);
    await database.pool.query('update webhooks.webhooks set requests_per_second = 10');
    await steps.store([newEvent(tenant), newEvent(tenant)]);
    const [first] = await steps.claim(1);
    await recordAttempts(database.pool, [responded(first, 200)]);
    await setAhead(0);
    await repairSchedule(database.pool, '', 100);
    await steps.store([newEvent(tenant)]);
    expect(await steps.claim(1)).toHaveLength(1);
  });

  test('that is set back by an hour does not keep a circuit open', async () => {
    const webhookId = await steps.subscribe(tenant);
    await steps.store([newEvent(tenant)]);
    await setAhead(hourMs);
    const change = { webhookId, pauseMs: 10_000, concurrency: 1, pauses: true };
    await saveEndpoints(database.pool, [change], 0);
    await setAhead(0);
    expect(await steps.dueInMs(webhookId)).toBeGreaterThan(hourMs - 60_000);
    await repairSchedule(database.pool, '', 100);
    expect(await steps.claim(1)).toHaveLength(1);
  });

  test('a retry and a lease that were stored while it was days ahead are due at the latest when any delay has ended', async () => {
    await steps.subscribe(tenant);
    await setAhead(8 * dayMs);
    const [leased, retried] = await steps.store([newEvent(tenant), newEvent(tenant)], 2);
    await recordAttempts(database.pool, [responded(retried, 500)]);
    await setAhead(0);
    expect(await steps.claim()).toEqual([]);
    await repairSchedule(database.pool, '', 100);
    const again = await steps.claim();
    expect(again.map(({ id }) => id).sort()).toEqual([leased?.id, retried?.id].sort());
  });

  test('a retry whose delay is possible keeps its due time', async () => {
    await steps.subscribe(tenant);
    const [job] = await steps.store([newEvent(tenant)], 1);
    await recordAttempts(database.pool, [responded(job, 500)]);
    await database.pool.query("update webhooks.deliveries set due_at = now() + interval '20 hours'");
    await repairSchedule(database.pool, '', 100);
    expect(await steps.claim()).toEqual([]);
  });

  test('an instance that has stopped before it was set back does not count', async () => {
    const [running, stopped] = [createInstances(database.pool), createInstances(database.pool)];
    await setAhead(hourMs);
    await stopped.beat();
    await setAhead(0);
    await running.beat();
    expect(running.part().count).toBe(1);
  });

  test('a replay continues after it was set back', async () => {
    const webhookId = await steps.subscribe(tenant);
    await setAhead(dayMs);
    await database.pool.query(
      `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, since, until, per_second, status,
                                     total, created_by, next_at)
       values ($1, 'live', 'rep_1', $2, '{failed}', now(), now(), 1, 'running', 1, '', now() + interval '1 second')`,
      [tenant.workspaceId, webhookId],
    );
    await setAhead(0);
    expect((await takeReplay(database.pool))?.id).toBe('rep_1');
  });
});
