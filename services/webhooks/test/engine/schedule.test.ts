import { perSuite, testDatabase } from '@rms/testkit';
import { releaseUnattempted } from '../../src/engine/lease/lease-queries.ts';
import { readDue, resetEndpoint, saveEndpoints } from '../../src/engine/lease/schedule-queries.ts';
import { recordAttempts } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { redeliver } from '../../src/rpc/redeliver-delivery.ts';
import { responded, stepsOn, unknown } from '../leases.ts';
import { newEvent, newEvents, newTenant, type Tenant } from '../support.ts';

const nothing = { webhookIds: [], workspaceIds: [] };
/** A lease, in milliseconds. */
const lease = 20_000;
const longPause = 100_000;

describe('the schedule of webhooks', () => {
  const database = perSuite(() => testDatabase([migrations]));
  const steps = perSuite(() => stepsOn(database.pool));
  // Leases span all tenants.
  beforeEach(() => steps.clear());

  const makeDue = (tenant: Tenant, count: number) => steps.store(newEvents(tenant, count));
  const subscribed = async () => {
    const tenant = newTenant();
    return { tenant, id: await steps.subscribe(tenant) };
  };
  const setDue = (webhookId: string, seconds: number) =>
    database.pool.query(
      `update webhooks.deliveries set due_at = now() + make_interval(secs => $2) where webhook_id = $1`,
      [webhookId, seconds],
    );
  const dueIds = async (excluded: Parameters<typeof readDue>[1] = nothing, limit = 100) =>
    (await readDue(database.pool, excluded, limit)).webhooks.map(({ webhookId }) => webhookId);
  const open = (webhookId: string, pauseMs: number) =>
    saveEndpoints(database.pool, [{ webhookId, pauseMs, concurrency: 1, pauses: true }], 0);

  test('has a webhook when its first delivery is stored: now if it is due, at the end of the lease otherwise', async () => {
    const { tenant, id } = await subscribed();
    expect(await steps.dueInMs(id)).toBeNull();
    await steps.store([newEvent(tenant)], 1);
    const dueInMs = (await steps.dueInMs(id)) ?? 0;
    expect(dueInMs).toBeGreaterThan(lease - 10_000);
    expect(dueInMs).toBeLessThanOrEqual(lease);
    await makeDue(tenant, 1);
    expect(await steps.dueInMs(id)).toBeLessThanOrEqual(0);
  });

  test('is read in the order of due times, without excluded webhooks and workspaces', async () => {
    const [first, second, third] = [await subscribed(), await subscribed(), await subscribed()];
    for (const { tenant } of [first, second, third]) await makeDue(tenant, 3);
    await setDue(second.id, -60);
    await setDue(third.id, -120);
    expect(await dueIds()).toEqual([third.id, second.id, first.id]);
    expect(await dueIds(nothing, 2)).toEqual([third.id, second.id]);
    const excluded = { webhookIds: [third.id], workspaceIds: [first.tenant.workspaceId] };
    expect(await dueIds(excluded)).toEqual([second.id]);
  });

  test('tells when the next webhook is due', async () => {
    expect(await readDue(database.pool, nothing, 10)).toEqual({ webhooks: [], nextMs: undefined });
    const { tenant, id } = await subscribed();
    await steps.store([newEvent(tenant)], 1);
    await steps.claim();
    await setDue(id, 10);
    const { webhooks, nextMs = 0 } = await readDue(database.pool, nothing, 10);
    expect(webhooks).toEqual([]);
    expect(nextMs).toBeGreaterThan(0);
    expect(nextMs).toBeLessThanOrEqual(10_000);
  });

  test('a lease moves a webhook to its earliest remaining delivery, or to the end of the lease', async () => {
    const { tenant, id } = await subscribed();
    await makeDue(tenant, 3);
    const { results } = await steps.lease({ attempts: 2 });
    expect(results).toEqual([
      { webhookId: id, leased: 2, hasMore: true, state: { pauseMs: 0, concurrency: undefined } },
    ]);
    expect(await steps.dueInMs(id)).toBeLessThanOrEqual(0);
    expect((await steps.lease()).results).toMatchObject([{ leased: 1, hasMore: false }]);
    expect(await steps.dueInMs(id)).toBeGreaterThan(lease - 10_000);
    expect(await dueIds()).toEqual([]);
  });

  test('a webhook without deliveries leaves the schedule when it is due', async () => {
    const { tenant, id } = await subscribed();
    const jobs = await steps.store([newEvent(tenant)], 1);
    await recordAttempts(
      database.pool,
      jobs.map((job) => responded(job, 200)),
    );
    await database.pool.query('update webhooks.endpoints set next_due_at = now(), not_before = now()');
    expect((await steps.lease()).results).toMatchObject([{ leased: 0, hasMore: false }]);
    expect(await steps.dueInMs(id)).toBeNull();
  });

  test('retries, redeliveries and released deliveries move a webhook forward, never backward', async () => {
    const { tenant, id } = await subscribed();
    const [job] = await steps.store([newEvent(tenant)], 1);
    await recordAttempts(database.pool, [responded(job, 500)]);
    await database.pool.query('update webhooks.endpoints set next_due_at = now(), not_before = now()');
    await steps.claim();
    expect(await steps.dueInMs(id)).toBeGreaterThan(lease);
    await redeliver(database.pool, steps.scopeOf(tenant), job?.id ?? '');
    expect(await steps.dueInMs(id)).toBeLessThanOrEqual(0);
    const jobs = await steps.claim();
    expect(await steps.dueInMs(id)).toBeGreaterThan(0);
    await releaseUnattempted(database.keyedPool, jobs);
    expect(await steps.dueInMs(id)).toBeLessThanOrEqual(0);
    await setDue(id, 3_600);
    expect(await steps.dueInMs(id)).toBeLessThanOrEqual(0);
  });

  describe('an open circuit', () => {
    test('is due when its pause ends, regardless of its deliveries', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 2);
      await open(id, longPause);
      expect(await steps.dueInMs(id)).toBeGreaterThan(longPause - 60_000);
      const { jobs, due } = await steps.fanOut([newEvent(tenant)], { ...unknown, total: 10 });
      expect([jobs, due]).toEqual([[], []]);
      expect(await steps.dueInMs(id)).toBeGreaterThan(longPause - 60_000);
      expect(await dueIds()).toEqual([]);
    });

    test('yields one delivery as a probe, once for all instances', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 3);
      await open(id, 1_000);
      await database.pool.query('update webhooks.endpoints set next_due_at = now(), not_before = now()');
      const leases = await Promise.all([steps.lease(), steps.lease(), steps.lease()]);
      expect(leases.flatMap(({ jobs }) => jobs)).toHaveLength(1);
      expect(leases.flatMap(({ results }) => results)).toContainEqual({
        webhookId: id,
        leased: 1,
        hasMore: false,
        state: { pauseMs: 1_000, concurrency: 1 },
      });
    });

    test('is probed again after the lease of a probe whose instance died', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 3);
      await open(id, 1_000);
      await database.pool.query('update webhooks.endpoints set next_due_at = now(), not_before = now()');
      expect(await steps.claim()).toHaveLength(1);
      expect(await steps.dueInMs(id)).toBeGreaterThan(lease - 10_000);
      await database.pool.query('update webhooks.endpoints set next_due_at = now(), not_before = now()');
      expect(await steps.claim()).toHaveLength(1);
    });

    test('is due when a delivery is stored after the pause, even if its other deliveries are due later', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 1);
      await setDue(id, 3_600);
      await open(id, 1_000);
      await database.pool.query('update webhooks.endpoints set next_due_at = now(), not_before = now()');
      expect(await steps.claim()).toEqual([]);
      expect(await steps.dueInMs(id)).toBeGreaterThan(longPause - 60_000);
      const { due } = await steps.fanOut([newEvent(tenant)], { ...unknown, total: 10 });
      expect([due, await dueIds()]).toEqual([[id], [id]]);
    });

    test('is due now when it closes', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 3);
      await open(id, longPause);
      const close = { webhookId: id, pauseMs: 0, concurrency: undefined, pauses: false };
      await saveEndpoints(database.pool, [close], 0);
      expect(await dueIds()).toEqual([id]);
      expect(await steps.claim()).toHaveLength(3);
    });

    test('a later change of the limit does not undo the pause of the same batch', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 3);
      const change = { webhookId: id, pauseMs: longPause, concurrency: undefined };
      const changes = [
        { ...change, pauses: true },
        { ...change, concurrency: 1, pauses: false },
      ];
      await saveEndpoints(database.pool, changes, 0);
      expect(await steps.dueInMs(id)).toBeGreaterThan(longPause - 60_000);
    });
  });

  test('the stored concurrency limit applies only to an endpoint that this instance does not know', async () => {
    const { tenant, id } = await subscribed();
    await makeDue(tenant, 4);
    const change = { webhookId: id, pauseMs: 0, concurrency: 1, pauses: false };
    await saveEndpoints(database.pool, [change], 0);
    expect((await steps.lease({ isKnown: false })).jobs).toHaveLength(1);
    expect((await steps.lease({ attempts: 2, isKnown: true })).jobs).toHaveLength(2);
  });

  test('fan-out leases one delivery for an endpoint that is slow at another instance', async () => {
    const { tenant, id } = await subscribed();
    await makeDue(tenant, 1);
    const change = { webhookId: id, pauseMs: 0, concurrency: 1, pauses: false };
    await saveEndpoints(database.pool, [change], 0);
    const { jobs, due } = await steps.fanOut([newEvent(tenant), newEvent(tenant)], {
      ...unknown,
      total: 10,
    });
    expect([jobs.length, due]).toEqual([1, [id]]);
  });

  test('fan-out leases as many deliveries of a workspace as it may attempt', async () => {
    const [busy, idle] = [await subscribed(), await subscribed()];
    const events = [busy, idle].flatMap(({ tenant }) => [newEvent(tenant), newEvent(tenant), newEvent(tenant)]);
    const ofWorkspaces = new Map([[busy.tenant.workspaceId, 1]]);
    const { jobs, due } = await steps.fanOut(events, { ...unknown, ofWorkspaces, total: 10 });
    expect(jobs.map(({ webhookId }) => webhookId).sort()).toEqual([busy.id, idle.id, idle.id, idle.id].sort());
    expect(due).toEqual([busy.id]);
  });

  test('a lease skips a webhook to which another transaction adds deliveries, and then finds all of them', async () => {
    const [changing, other] = [await subscribed(), await subscribed()];
    await makeDue(changing.tenant, 1);
    await makeDue(other.tenant, 1);
    const storing = await database.pool.connect();
    try {
      await storing.query('begin');
      await storing.query(
        `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                          sequence, request_id, due_at)
         select workspace_id, environment, 'dlv_' || repeat('z', 26), event_id, webhook_id, event_type, resource_id,
                sequence, request_id, now() from webhooks.deliveries where webhook_id = $1`,
        [changing.id],
      );
      const { jobs, results, locked } = await steps.lease();
      expect(jobs.map(({ webhookId }) => webhookId)).toEqual([other.id]);
      expect(results.map(({ webhookId }) => webhookId)).toEqual([other.id]);
      expect(locked).toEqual([changing.id]);
      await storing.query('commit');
    } finally {
      storing.release();
    }
    expect((await steps.lease()).jobs.map(({ webhookId }) => webhookId)).toEqual([changing.id, changing.id]);
  });

  test('a webhook stays due while another transaction has locked one of its due deliveries', async () => {
    const { tenant, id } = await subscribed();
    await makeDue(tenant, 3);
    await setDue(id, -60);
    const recording = await database.pool.connect();
    try {
      await recording.query('begin');
      const { rows } = await recording.query<{ id: string }>(
        `select id from webhooks.deliveries where webhook_id = $1 order by due_at limit 1 for update`,
        [id],
      );
      const { jobs, results } = await steps.lease();
      expect(jobs).toHaveLength(2);
      expect(jobs.map((job) => job.id)).not.toContain(rows[0]?.id);
      expect(results).toMatchObject([{ webhookId: id, leased: 2, hasMore: true }]);
      expect(await steps.dueInMs(id)).toBeLessThanOrEqual(0);
    } finally {
      await recording.query('rollback');
      recording.release();
    }
    expect(await steps.claim()).toHaveLength(1);
    expect(await steps.dueInMs(id)).toBeGreaterThan(0);
  });

  describe('a webhook that is disabled', () => {
    const disable = async (webhookId: string) => {
      await database.pool.query("update webhooks.webhooks set status = 'disabled' where id = $1", [webhookId]);
      await resetEndpoint(database.pool, webhookId);
    };

    test('is abandoned while it has deliveries, even if all of them wait for others of their lanes', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 2);
      await database.pool.query('update webhooks.deliveries set ordered = true, due_at = null');
      await disable(id);
      const { abandoned, jobs } = await steps.lease();
      expect([abandoned, jobs]).toMatchObject([[{ id }], []]);
      expect(await steps.logged(tenant)).toHaveLength(2);
    });

    test('leaves the schedule when it has none', async () => {
      const { tenant, id } = await subscribed();
      await makeDue(tenant, 1);
      await disable(id);
      await steps.lease();
      expect(await steps.dueInMs(id)).toBeGreaterThan(0);
      await database.pool.query('update webhooks.endpoints set next_due_at = now()');
      expect((await steps.lease()).abandoned).toEqual([]);
      expect(await steps.dueInMs(id)).toBeNull();
    });
  });
});
