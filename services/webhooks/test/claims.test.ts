import { type TestDatabase, testDatabase } from '@rms/testkit';
import { failAbandoned, failPending } from '../src/delivery/end-queries.ts';
import type { DeliveryJob } from '../src/delivery/job.ts';
import { leaseFirstOf } from '../src/delivery/lease-queries.ts';
import { recordAttempts } from '../src/delivery/record-queries.ts';
import { giveBack, releaseLeases } from '../src/delivery/release-queries.ts';
import { redeliver } from '../src/log/log-queries.ts';
import { migrations } from '../src/migrations.ts';
import { answered, type Steps, stepsOn } from './leases.ts';
import { newEvent, newTenant, type Tenant } from './support.ts';

describe('leases of deliveries', () => {
  let database: TestDatabase;
  let steps: Steps;
  beforeAll(async () => {
    database = await testDatabase([migrations]);
    steps = stepsOn(database.pool);
  });
  afterAll(() => database?.drop());
  // Claims span all tenants.
  beforeEach(() => database.pool.query('truncate webhooks.webhooks, webhooks.attempt_counts, webhooks.deliveries'));

  /** Deliveries of so many events, due and unleased. */
  const makeDue = (tenant: Tenant, count: number) => steps.store(Array.from({ length: count }, () => newEvent(tenant)));

  test('what one instance has leased no other gets, until the lease ends', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 4);
    const claims = await Promise.all([steps.claim(), steps.claim(), steps.claim()]);
    expect(claims.flat()).toHaveLength(4);
    expect(new Set(claims.flat().map(({ id }) => id)).size).toBe(4);
    expect(await steps.claim()).toEqual([]);
    await steps.endLeases();
    expect(await steps.claim()).toHaveLength(2);
  });

  test('fan-out leases as many as there is room for; the others are due', async () => {
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

  test('fan-out names the webhooks of deliveries that are due, not those of leased ones', async () => {
    const tenant = newTenant();
    const [full, free] = [await steps.subscribe(tenant), await steps.subscribe(tenant)];
    const openings = { room: 10, ofWebhooks: new Map([[full, 0]]), ofOthers: 10 };
    const { jobs, due } = await steps.fanOut([newEvent(tenant), newEvent(tenant)], openings);
    expect(jobs.map(({ webhookId }) => webhookId)).toEqual([free, free]);
    expect(due).toEqual([full]);
  });

  test('an event that no webhook wants is in the feed all the same', async () => {
    const tenant = newTenant();
    expect(await steps.store([newEvent(tenant)], 10)).toEqual([]);
    const { rows } = await database.pool.query('select position from webhooks.events where workspace_id = $1', [
      tenant.workspaceId,
    ]);
    expect(rows).toEqual([{ position: '1' }]);
  });

  test('the backlog of one webhook is not in front of another', async () => {
    const [busy, quiet] = [newTenant(), newTenant()];
    const backlogged = await steps.subscribe(busy);
    const other = await steps.subscribe(quiet);
    await makeDue(busy, 50);
    await makeDue(quiet, 1);
    expect((await steps.claim(8)).map(({ webhookId }) => webhookId)).toContain(other);
    await steps.endLeases();
    expect((await steps.claim(8, { places: new Map([[backlogged, 0]]) })).map(({ webhookId }) => webhookId)).toEqual([
      other,
    ]);
  });

  test('a batch begins after the webhook where the one before it has ended, and goes round', async () => {
    const tenant = newTenant();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push(await steps.subscribe(tenant));
    ids.sort();
    await makeDue(tenant, 3);
    const batches: string[][] = [];
    let after = '';
    for (let i = 0; i < 5; i += 1) {
      const leased = await steps.lease({ limit: 3, after });
      batches.push(leased.jobs.map(({ webhookId }) => webhookId).sort());
      after = leased.last ?? '';
    }
    const [one, two, three, four, five] = ids;
    // One delivery of each webhook in turn: a quarter of three is none, and one is the least.
    expect(batches).toEqual([
      [one, two, three],
      [one, four, five].sort(),
      [two, three, four],
      [one, two, five].sort(),
      [three, four, five],
    ]);
    expect(await steps.lease({ limit: 3, after })).toMatchObject({ leased: 0, last: undefined });
  });

  test('a webhook gets as many as it can take, and one of a full workspace none', async () => {
    const [roomy, full] = [newTenant(), newTenant()];
    const [some, few] = [await steps.subscribe(roomy), await steps.subscribe(roomy)];
    await steps.subscribe(full);
    await makeDue(roomy, 5);
    await makeDue(full, 5);
    const { jobs } = await steps.lease({ limit: 16, places: new Map([[few, 2]]), fullWorkspaces: [full.workspaceId] });
    const countOf = (id: string) => jobs.filter(({ webhookId }) => webhookId === id).length;
    expect([countOf(some), countOf(few), jobs.length]).toEqual([4, 2, 6]);
  });

  test('a probe gets what is due first of each webhook that is named, and nothing of others', async () => {
    const tenant = newTenant();
    const [one, two, late] = [
      await steps.subscribe(tenant),
      await steps.subscribe(tenant),
      await steps.subscribe(tenant),
    ];
    await steps.subscribe(tenant);
    await makeDue(tenant, 3);
    await database.pool.query(
      "update webhooks.deliveries set due_at = now() + interval '1 minute' where webhook_id = $1",
      [late],
    );
    const { rows } = await database.pool.query<{ id: string }>(
      `update webhooks.deliveries set due_at = now() - interval '1 hour'
        where id in (select max(id) from webhooks.deliveries where webhook_id = any($1) group by webhook_id) returning id`,
      [[one, two]],
    );
    const { jobs, leased } = await leaseFirstOf(database.pool, [one, two, late, newTenant().workspaceId]);
    expect(jobs.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
    expect([leased, jobs.length]).toEqual([2, 2]);
    const next = await leaseFirstOf(database.pool, [two]);
    expect(next.jobs.map(({ webhookId }) => webhookId)).toEqual([two]);
  });

  test('what is given back is due at once', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const jobs = await steps.claim();
    await giveBack(database.pool, jobs);
    const again = await steps.claim();
    expect(again.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    // It is somebody else's now.
    await giveBack(database.pool, jobs);
    expect(await steps.claim()).toEqual([]);
  });

  test('a result whose lease has ended is logged and does not undo what came after it', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const [stalled] = await steps.claim();
    await steps.endLeases();
    const [successor] = await steps.claim();
    await recordAttempts(database.pool, [answered(successor, 200)]);
    await recordAttempts(database.pool, [answered(stalled, 500)]);
    const [delivery] = await steps.logged(tenant);
    expect(delivery?.status).toBe('delivered');
    expect(delivery?.attempts.map(({ number, status_code: status }) => [number, status])).toEqual([
      [1, 200],
      [2, 500],
    ]);
  });

  test('two results of one delivery in one batch are both logged', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    const [stalled] = await steps.claim();
    await steps.endLeases();
    const [successor] = await steps.claim();
    await recordAttempts(database.pool, [answered(stalled, 503), answered(successor, 200)]);
    const [delivery] = await steps.logged(tenant);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }, { number: 2 }] });
  });

  test('a result that comes again, since nobody heard that it was written, is there once and decides nothing more', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 2);
    const [arrives, fails] = await steps.claim();
    const results = [answered(arrives, 200), answered(fails, 503)];
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

  test('a redelivery that is asked for during an attempt is made, unless the attempt arrives', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 2);
    const [fails, arrives] = await steps.claim();
    for (const job of [fails, arrives]) await redeliver(database.pool, steps.scopeOf(tenant), job?.id ?? '');
    await recordAttempts(database.pool, [answered(fails, 410), answered(arrives, 200)]);
    const again = await steps.claim();
    expect(again).toMatchObject([{ id: fails?.id, tries: 0 }]);
    await recordAttempts(database.pool, [answered(again[0], 200)]);
    const log = await steps.logged(tenant);
    expect(log.map(({ status, origin, attempts }) => [status, origin, attempts.length]).sort()).toEqual([
      ['delivered', 'redelivery', 1],
      ['delivered', 'redelivery', 2],
    ]);
  });

  test('an attempt that succeeds although its delivery was ended meanwhile is a success; a failed one is not retried', async () => {
    const tenant = newTenant();
    const webhookId = await steps.subscribe(tenant);
    await makeDue(tenant, 2);
    const [first, second] = await steps.claim();
    await failPending(database.pool, { workspaceId: tenant.workspaceId, environment: 'live', id: webhookId });
    await recordAttempts(database.pool, [answered(first, 200), answered(second, 500)]);
    const log = await steps.logged(tenant);
    const statusOf = (job: DeliveryJob | undefined) => log.find(({ id }) => id === job?.id)?.status;
    expect([statusOf(first), statusOf(second)]).toEqual(['delivered', 'failed']);
    expect(log.map(({ dueAt }) => dueAt)).toEqual([null, null]);
  });

  test('deliveries of a webhook that is deleted or disabled fail when they are claimed', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const deleted = await steps.subscribe(tenant);
    const disabled = await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    await database.pool.query('delete from webhooks.webhooks where id = $1', [deleted]);
    await database.pool.query("update webhooks.webhooks set status = 'disabled' where id = $1", [disabled]);
    expect(await steps.claim()).toHaveLength(1);
    const log = await steps.logged(tenant, { status: 'failed' });
    expect(log.map(({ webhookId }) => webhookId).sort()).toEqual([deleted, disabled].sort());
  });

  test('a large backlog of a webhook that is deleted ends in parts, and others stay as they are', async () => {
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
    const ended = [];
    do ended.push(await failAbandoned(database.pool));
    while (ended.at(-1));
    expect(ended).toEqual([5_000, 1_001, 0]);
    const { rows } = await database.pool.query(
      `select webhook_id, status, count(*)::integer from webhooks.delivery_log where workspace_id = $1 group by 1, 2`,
      [tenant.workspaceId],
    );
    expect(rows).toEqual([{ webhook_id: deleted, status: 'failed', count: 6_001 }]);
    expect(await steps.claim()).toMatchObject([{ webhookId: kept }]);
  });

  test('an instance that is alone ends the leases of first attempts when it starts', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await makeDue(tenant, 1);
    await steps.claim();
    await releaseLeases(database.pool);
    expect(await steps.claim()).toHaveLength(1);
  });
});
