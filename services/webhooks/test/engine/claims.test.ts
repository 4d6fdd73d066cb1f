import { perSuite, testDatabase } from '@rms/testkit';
import type { DeliveryJob } from '../../src/engine/attempt/job.ts';
import { releaseLeases, releaseUnattempted } from '../../src/engine/lease/lease-queries.ts';
import { failPending } from '../../src/engine/record/end-queries.ts';
import { recordAttempts } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { redeliver } from '../../src/rpc/redeliver-delivery.ts';
import { responded, stepsOn, unknown } from '../leases.ts';
import { newEvent, newEvents, newTenant, type Tenant } from '../support.ts';

describe('leases of deliveries', () => {
  const database = perSuite(() => testDatabase([migrations]));
  const steps = perSuite(() => stepsOn(database.pool));
  // Leases span all tenants.
  beforeEach(() => steps.clear());

  /** Stores `count` events, whose deliveries are due and not leased. */
  const makeDue = (tenant: Tenant, count: number) => steps.store(newEvents(tenant, count));

  test('a leased delivery is not leased by another instance until the lease expires', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 4);
    const claims = await Promise.all([steps.claim(), steps.claim(), steps.claim()]);
    expect(claims.flat()).toHaveLength(4);
    expect(new Set(claims.flat().map(({ id }) => id)).size).toBe(4);
    expect(await steps.claim()).toEqual([]);
    await steps.endLeases();
    expect(await steps.claim()).toHaveLength(4);
  });

  test('fan-out leases as many deliveries as there is capacity for; the others are due', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await steps.subscribe(tenant);
    const events = [newEvent(tenant), newEvent(tenant)];
    const jobs = await steps.store(events, 3);
    expect(jobs).toHaveLength(3);
    const [rest] = await steps.claim();
    const all = [...jobs, rest].map((job) => [job?.eventId, job?.webhookId].join());
    expect(new Set(all).size).toBe(4);
    expect(rest?.body).toEqual(Buffer.from(events.find(({ id }) => id === rest?.eventId)?.body ?? []));
    expect(await steps.store(events, 10)).toEqual([]);
  });

  test('fan-out returns the webhooks of due deliveries, not of leased ones', async () => {
    const tenant = newTenant();
    const [full, free] = [await steps.subscribe(tenant), await steps.subscribe(tenant)];
    const freeCapacity = { ...unknown, total: 10, ofWebhooks: new Map([[full, 0]]) };
    const { jobs, due } = await steps.fanOut([newEvent(tenant), newEvent(tenant)], freeCapacity);
    expect(jobs.map(({ webhookId }) => webhookId)).toEqual([free, free]);
    expect(due).toEqual([full]);
  });

  test('an event without a matching webhook is in the feed', async () => {
    const tenant = newTenant();
    expect(await steps.store([newEvent(tenant)], 10)).toEqual([]);
    const { rows } = await database.pool.query('select position from webhooks.events where workspace_id = $1', [
      tenant.workspaceId,
    ]);
    expect(rows).toEqual([{ position: '1' }]);
  });

  test('a released delivery is due immediately', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const jobs = await steps.claim();
    await releaseUnattempted(database.keyedPool, jobs);
    const again = await steps.claim();
    expect(again.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    // The delivery has a newer lease, so the outdated jobs cannot release it.
    await releaseUnattempted(database.keyedPool, jobs);
    expect(await steps.claim()).toEqual([]);
  });

  test('a result with an expired lease is logged and does not override a later result', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const [stalled] = await steps.claim();
    await steps.endLeases();
    const [successor] = await steps.claim();
    await recordAttempts(database.pool, [responded(successor, 200)]);
    await recordAttempts(database.pool, [responded(stalled, 500)]);
    const [delivery] = await steps.logged(tenant);
    expect(delivery?.status).toBe('delivered');
    expect(delivery?.attempts.map(({ number, status_code: status }) => [number, status])).toEqual([
      [1, 200],
      [2, 500],
    ]);
  });

  test('two results of the same delivery in one batch are both logged', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const [stalled] = await steps.claim();
    await steps.endLeases();
    const [successor] = await steps.claim();
    await recordAttempts(database.pool, [responded(stalled, 503), responded(successor, 200)]);
    const [delivery] = await steps.logged(tenant);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }, { number: 2 }] });
  });

  test('a result recorded twice, because the first commit was not confirmed, has an effect only once', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 2);
    const [arrives, fails] = await steps.claim();
    const results = [responded(arrives, 200), responded(fails, 503)];
    await recordAttempts(database.pool, results);
    await recordAttempts(database.pool, results);
    await redeliver(database.pool, steps.scopeOf(tenant), arrives?.id ?? '');
    await recordAttempts(database.pool, results);
    const log = await steps.logged(tenant);
    expect(log.map(({ attempts }) => attempts.length)).toEqual([1, 1]);
    const again = await steps.claim();
    expect(again.map(({ id, tries }) => [id, tries])).toEqual([[arrives?.id, 0]]);
    await steps.endLeases();
    expect((await steps.claim()).find(({ id }) => id === fails?.id)).toMatchObject({ tries: 1 });
  });

  test('a redelivery requested during an attempt is made unless the attempt succeeds', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 2);
    const [fails, arrives] = await steps.claim();
    for (const job of [fails, arrives]) await redeliver(database.pool, steps.scopeOf(tenant), job?.id ?? '');
    await recordAttempts(database.pool, [responded(fails, 410), responded(arrives, 200)]);
    const again = await steps.claim();
    expect(again).toMatchObject([{ id: fails?.id, tries: 0 }]);
    await recordAttempts(database.pool, [responded(again[0], 200)]);
    const log = await steps.logged(tenant);
    expect(log.map(({ status, origin, attempts }) => [status, origin, attempts.length]).sort()).toEqual([
      ['delivered', 'redelivery', 1],
      ['delivered', 'redelivery', 2],
    ]);
  });

  test('a successful attempt counts even if its delivery has been ended; a failed attempt is not retried', async () => {
    const tenant = newTenant();
    const webhookId = await steps.subscribe(tenant);
    await makeDue(tenant, 2);
    const [first, second] = await steps.claim();
    await failPending(database.pool, { workspaceId: tenant.workspaceId, environment: 'live', id: webhookId });
    await recordAttempts(database.pool, [responded(first, 200), responded(second, 500)]);
    const log = await steps.logged(tenant);
    const statusOf = (job: DeliveryJob | undefined) => log.find(({ id }) => id === job?.id)?.status;
    expect([statusOf(first), statusOf(second)]).toEqual(['delivered', 'failed']);
    expect(log.map(({ nextAttemptAt }) => nextAttemptAt)).toEqual([null, null]);
  });

  test('deliveries of a deleted or disabled webhook fail when they are leased', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const deleted = await steps.subscribe(tenant);
    const disabled = await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    await database.pool.query('delete from webhooks.webhooks where id = $1', [deleted]);
    await database.pool.query("update webhooks.webhooks set status = 'disabled' where id = $1", [disabled]);
    expect(await steps.claim()).toHaveLength(1);
    const log = await steps.logged(tenant, { statuses: ['failed'] });
    expect(log.map(({ webhookId }) => webhookId).sort()).toEqual([deleted, disabled].sort());
  });

  test('a large backlog of a deleted webhook ends in parts, and other webhooks are unaffected', async () => {
    const tenant = newTenant();
    const [kept, deleted] = [await steps.subscribe(tenant), await steps.subscribe(tenant)];
    await makeDue(tenant, 1);
    await database.pool.query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, due_at)
       select workspace_id, environment, substr(id, 1, 14) || lpad(i::text, 16, '0'), event_id, webhook_id, event_type,
              resource_id, sequence, request_id, now() + interval '1 hour'
         from webhooks.deliveries, generate_series(1, 6000) as i where webhook_id = $1`,
      [deleted],
    );
    await database.pool.query('delete from webhooks.webhooks where id = $1', [deleted]);
    expect(await steps.claim()).toMatchObject([{ webhookId: kept }]);
    const { rows } = await database.pool.query(
      `select webhook_id, status, count(*)::integer from webhooks.delivery_log where workspace_id = $1 group by 1, 2`,
      [tenant.workspaceId],
    );
    expect(rows).toEqual([{ webhook_id: deleted, status: 'failed', count: 6_001 }]);
  });

  test('deliveries with large attempts end in parts, at least one at a time', async () => {
    const tenant = newTenant();
    const webhookId = await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const set = (mebibytes: number) =>
      database.pool.query(
        `update webhooks.deliveries set attempts = jsonb_build_array(jsonb_build_object('response_body',
           (select string_agg(md5(id || i), '') from generate_series(1, $2::integer * 32768) as i))) where webhook_id = $1`,
        [webhookId, mebibytes],
      );
    const fail = () =>
      failPending(database.pool, { workspaceId: tenant.workspaceId, environment: 'live', id: webhookId });
    await set(9);
    expect(await fail()).toBe(1);
    await makeDue(tenant, 10);
    await set(1);
    expect([await fail(), await fail(), await fail()]).toEqual([8, 2, 0]);
    const { rows } = await database.pool.query(
      'select status, count(*)::integer from webhooks.delivery_log where webhook_id = $1 group by status',
      [webhookId],
    );
    expect(rows).toEqual([{ status: 'failed', count: 11 }]);
  });

  test('a single instance ends the leases of first attempts when it starts', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    await steps.claim();
    await releaseLeases(database.pool);
    expect(await steps.claim()).toHaveLength(1);
  });
});
