import { perSuite, testDatabase } from '@rms/testkit';
import { freeLanes } from '../../src/engine/lease/lane-queries.ts';
import { recordAttempts } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { redeliver } from '../../src/rpc/redeliver-delivery.ts';
import { responded, stepsOn } from '../leases.ts';
import { laneOf, newTenant } from '../support.ts';

describe('lanes', () => {
  const database = perSuite(() => testDatabase([migrations]));
  const steps = perSuite(() => stepsOn(database.pool));
  beforeEach(() => steps.clear());

  const subscribed = async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant, { ordered: true });
    return tenant;
  };
  const eventIds = (jobs: readonly { eventId: string }[]) => jobs.map(({ eventId }) => eventId);

  test('only the first delivery of a lane is leased, by fan-out or later', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 3);
    const jobs = await steps.store(events.slice(0, 2).reverse(), 10);
    expect(eventIds(jobs)).toEqual([events[0]?.id]);
    expect(await steps.store(events.slice(2), 10)).toEqual([]);
    expect(await steps.claim()).toEqual([]);
    expect((await freeLanes(database.pool)).freed).toBe(0);
  });

  test('the next delivery becomes due when its predecessor is delivered, fails, or cannot be attempted', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 4);
    const [one] = await steps.store(events, 10);
    await recordAttempts(database.pool, [responded(one, 200)]);
    const [two] = await steps.claim();
    expect(two?.eventId).toBe(events[1]?.id);
    await recordAttempts(database.pool, [responded(two, 410)]);
    const [three] = await steps.claim();
    expect(three?.eventId).toBe(events[2]?.id);
    await steps.endLeases();
    await database.pool.query('update webhooks.events set body = null where id = $1', [events[2]?.id]);
    expect(await steps.claim()).toEqual([]);
    expect(eventIds(await steps.claim())).toEqual([events[3]?.id]);
  });

  test('the webhooks of the next deliveries are returned, and each delivery can be leased once', async () => {
    const tenant = await subscribed();
    const lanes = [laneOf(tenant, 2), laneOf(tenant, 2)];
    const jobs = await steps.store(lanes.flat(), 10);
    const { freed } = await recordAttempts(
      database.pool,
      jobs.map((job) => responded(job, job.eventId === lanes[0]?.[0]?.id ? 200 : 500)),
    );
    const [next] = await steps.claim();
    expect([freed, next?.eventId, next?.lease]).toEqual([[jobs[0]?.webhookId], lanes[0]?.[1]?.id, 2]);
    expect(await steps.claim()).toEqual([]);
  });

  test('a retry blocks its lane', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 2);
    const [one] = await steps.store(events, 10);
    await recordAttempts(database.pool, [responded(one, 500)]);
    expect((await freeLanes(database.pool)).freed).toBe(0);
    expect(await steps.claim()).toEqual([]);
    await steps.endLeases();
    expect(eventIds(await steps.claim())).toEqual([events[0]?.id]);
  });

  test('another instance takes over the lease of a dead one; a late result does not unblock the lane', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 2);
    const [stalled] = await steps.store(events, 10);
    await steps.endLeases();
    const [successor] = await steps.claim();
    expect(successor?.eventId).toBe(events[0]?.id);
    await recordAttempts(database.pool, [responded(stalled, 410)]);
    await freeLanes(database.pool);
    expect(await steps.claim()).toEqual([]);
    await recordAttempts(database.pool, [responded(successor, 200)]);
    expect(eventIds(await steps.claim())).toEqual([events[1]?.id]);
  });

  test('a delivery that was stored while its predecessor ended becomes due afterwards', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 2);
    const [job] = await steps.store(events.slice(0, 1), 10);
    const ending = await database.pool.connect();
    await ending.query('begin');
    await recordAttempts(ending, [responded(job, 200)]);
    // The end is not committed yet, so other transactions still see the first delivery as pending.
    expect(await steps.store(events.slice(1), 10)).toEqual([]);
    expect((await freeLanes(database.pool)).freed).toBe(0);
    await ending.query('commit');
    ending.release();
    expect(await steps.claim()).toEqual([]);
    expect((await freeLanes(database.pool)).freed).toBe(1);
    expect(eventIds(await steps.claim())).toEqual([events[1]?.id]);
  });

  test('are scanned in parts, so that a tenant with many lanes does not delay the lanes of others', async () => {
    const tenants = [await subscribed(), await subscribed(), await subscribed()];
    const events = tenants.map((tenant) => laneOf(tenant, 2));
    const jobs = await steps.store(
      events.flatMap((two) => two.slice(0, 1)),
      10,
    );
    const ending = await database.pool.connect();
    await ending.query('begin');
    await recordAttempts(
      ending,
      jobs.map((job) => responded(job, 200)),
    );
    await steps.store(
      events.flatMap((two) => two.slice(1)),
      10,
    );
    await ending.query('commit');
    ending.release();
    const first = await freeLanes(database.pool, undefined, 2);
    expect([first.freed, first.last?.resourceId]).toEqual([2, expect.any(String)]);
    // The lanes before `last` are not read again.
    expect(await freeLanes(database.pool, first.last, 2)).toEqual({ freed: 1, last: undefined });
    expect(await steps.claim()).toHaveLength(3);
  });

  test('events that arrive out of order are not in flight concurrently', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 3);
    const [one, two, three] = events;
    const [job] = await steps.store(events.slice(1, 2), 10);
    expect(job?.eventId).toBe(two?.id);
    await steps.store(events.filter((event) => event !== two).reverse(), 10);
    await freeLanes(database.pool);
    expect(await steps.claim()).toEqual([]);
    await recordAttempts(database.pool, [responded(job, 200)]);
    const [next] = await steps.claim();
    expect(next?.eventId).toBe(one?.id);
    await recordAttempts(database.pool, [responded(next, 200)]);
    expect(eventIds(await steps.claim())).toEqual([three?.id]);
  });

  test('a redelivery is outside the lane and does not block it', async () => {
    const tenant = await subscribed();
    const events = laneOf(tenant, 3);
    const [one] = await steps.store(events, 10);
    await redeliver(database.pool, steps.scopeOf(tenant), one?.id ?? '');
    // The redelivery is made if the attempt in flight fails.
    await recordAttempts(database.pool, [responded(one, 500)]);
    await freeLanes(database.pool);
    expect(eventIds(await steps.claim()).sort()).toEqual([events[0]?.id, events[1]?.id].sort());
    await freeLanes(database.pool);
    expect(await steps.claim()).toEqual([]);
  });

  test('the same resource at another webhook is another lane', async () => {
    const tenant = await subscribed();
    await steps.subscribe(tenant, { ordered: true });
    await steps.subscribe(tenant);
    const jobs = await steps.store(laneOf(tenant, 3), 10);
    // One delivery per lane, and all three deliveries of the unordered webhook.
    expect(jobs.map(({ ordered }) => ordered).sort()).toEqual([false, false, false, true, true]);
  });
});
