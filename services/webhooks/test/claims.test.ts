import { create } from '@bufbuild/protobuf';
import { inTransaction } from '@rms/db';
import { newId } from '@rms/ids';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { type TestDatabase, testDatabase } from '@rms/testkit';
import { giveBack, leaseDue, type Recording, recordAttempts, releaseLeases } from '../src/delivery/delivery-queries.ts';
import type { DeliveryJob } from '../src/delivery/job.ts';
import { defaultRetryPolicy } from '../src/delivery/retry-policy.ts';
import { settle } from '../src/delivery/settle.ts';
import { fanOut } from '../src/fan-out/fan-out-queries.ts';
import { readDeliveries, redeliver } from '../src/log/log-queries.ts';
import { migrations } from '../src/migrations.ts';
import { failPending, insertWebhook } from '../src/subscription/webhook-queries.ts';
import { newEvent, newTenant, type Tenant } from './support.ts';

describe('leases of deliveries', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase([migrations]);
  });
  afterAll(() => database?.drop());
  // Claims span all tenants.
  beforeEach(() => database.pool.query('truncate webhooks.webhooks, webhooks.deliveries, webhooks.events'));

  const subscribe = async ({ workspaceId }: Tenant) => {
    const id = newId('wh');
    await insertWebhook(database.pool, {
      workspaceId,
      environment: 'live',
      id,
      url: 'https://example.com/',
      events: ['*'],
      status: 'active',
      disableReason: undefined,
      secretSealed: Buffer.alloc(1),
      secretVersion: 1,
      retryPolicy: defaultRetryPolicy,
      createdAt: new Date(),
      updatedAt: new Date(),
    });
    return id;
  };
  /** Deliveries of so many events, due and unleased. */
  const makeDue = (tenant: Tenant, count: number) =>
    fanOut(
      database.pool,
      Array.from({ length: count }, () => newEvent(tenant)),
      0,
    );
  const claim = async (limit = 10, except: string[] = []) =>
    (await inTransaction(database.pool, (tx) => leaseDue(tx, limit, except))).jobs;
  const endLeases = () => database.pool.query("update webhooks.deliveries set due_at = now() - interval '1 second'");
  const scopeOf = ({ workspaceId }: Tenant) => ({ workspaceId, environments: ['live'] as const });
  const logged = async (tenant: Tenant) => (await readDeliveries(database.pool, scopeOf(tenant), {}, 10))[0];
  const answered = (job: DeliveryJob | undefined, statusCode: number): Recording => {
    if (!job) throw new Error('nothing was leased');
    const result = {
      startedAt: new Date(),
      statusCode,
      error: statusCode === 200 ? '' : `status: ${statusCode}`,
      durationMs: 1,
      responseBody: Buffer.from([0, 255]),
      retryAfterMs: undefined,
    };
    return { job, result, settlement: settle(job, result) };
  };

  test('what one instance has leased no other gets, until the lease ends', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await makeDue(tenant, 4);
    const claims = await Promise.all([claim(), claim(), claim()]);
    expect(claims.flat()).toHaveLength(4);
    expect(new Set(claims.flat().map(({ id }) => id)).size).toBe(4);
    expect(await claim()).toEqual([]);
    await endLeases();
    expect(await claim()).toHaveLength(2);
  });

  test('fan-out leases as many as there is room for; the others are due', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await subscribe(tenant);
    const events = [newEvent(tenant), newEvent(tenant)];
    const jobs = await fanOut(database.pool, events, 3);
    expect(jobs).toHaveLength(3);
    const [rest] = await claim();
    const all = [...jobs, rest].map((job) => [job?.eventId, job?.webhookId].join());
    expect(new Set(all).size).toBe(4);
    expect(rest?.body).toEqual(Buffer.from(events.find(({ id }) => id === rest?.eventId)?.body ?? []));
    expect(await fanOut(database.pool, events, 10)).toEqual([]);
  });

  test('events that no webhook wants are not kept', async () => {
    const event = create(ResourceEventSchema, newEvent(newTenant()));
    expect(await fanOut(database.pool, [event], 10)).toEqual([]);
    const { rowCount } = await database.pool.query('select from webhooks.events');
    expect(rowCount).toBe(0);
  });

  test('the backlog of one webhook is not in front of another', async () => {
    const [busy, quiet] = [newTenant(), newTenant()];
    const backlogged = await subscribe(busy);
    const other = await subscribe(quiet);
    await makeDue(busy, 50);
    await makeDue(quiet, 1);
    expect((await claim(8)).map(({ webhookId }) => webhookId)).toContain(other);
    await endLeases();
    expect((await claim(8, [backlogged])).map(({ webhookId }) => webhookId)).toEqual([other]);
  });

  test('what is given back is due at once', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await makeDue(tenant, 1);
    const jobs = await claim();
    await giveBack(database.pool, jobs);
    const again = await claim();
    expect(again.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    // It is somebody else's now.
    await giveBack(database.pool, jobs);
    expect(await claim()).toEqual([]);
  });

  test('a result whose lease has ended is logged and does not undo what came after it', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await makeDue(tenant, 1);
    const [stalled] = await claim();
    await endLeases();
    const [successor] = await claim();
    await recordAttempts(database.pool, [answered(successor, 200)]);
    await recordAttempts(database.pool, [answered(stalled, 500)]);
    const delivery = await logged(tenant);
    expect(delivery?.status).toBe('delivered');
    expect(delivery?.attempts.map(({ number, statusCode }) => [number, statusCode])).toEqual([
      [1, 200],
      [2, 500],
    ]);
  });

  test('two results of one delivery in one batch are both logged', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await makeDue(tenant, 1);
    const [stalled] = await claim();
    await endLeases();
    const [successor] = await claim();
    await recordAttempts(database.pool, [answered(stalled, 503), answered(successor, 200)]);
    const delivery = await logged(tenant);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }, { number: 2 }] });
  });

  test('a redelivery that is asked for during an attempt is made, whatever the attempt comes to', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await makeDue(tenant, 1);
    const [job] = await claim();
    await redeliver(database.pool, scopeOf(tenant), job?.id ?? '');
    await recordAttempts(database.pool, [answered(job, 200)]);
    const [again] = await claim();
    expect(again).toMatchObject({ id: job?.id, tries: 0 });
  });

  test('an attempt that succeeds although its delivery was ended meanwhile is a success; a failed one is not retried', async () => {
    const tenant = newTenant();
    const webhookId = await subscribe(tenant);
    await makeDue(tenant, 2);
    const [first, second] = await claim();
    await failPending(database.pool, { workspaceId: tenant.workspaceId, environment: 'live' }, webhookId);
    await recordAttempts(database.pool, [answered(first, 200), answered(second, 500)]);
    const log = await readDeliveries(database.pool, scopeOf(tenant), {}, 10);
    const statusOf = (job: DeliveryJob | undefined) => log.find(({ id }) => id === job?.id)?.status;
    expect([statusOf(first), statusOf(second)]).toEqual(['delivered', 'failed']);
    expect(log.map(({ dueAt }) => dueAt)).toEqual([null, null]);
  });

  test('deliveries of a webhook that is deleted or disabled fail when they are claimed', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const deleted = await subscribe(tenant);
    const disabled = await subscribe(tenant);
    await makeDue(tenant, 1);
    await database.pool.query('delete from webhooks.webhooks where id = $1', [deleted]);
    await database.pool.query("update webhooks.webhooks set status = 'disabled' where id = $1", [disabled]);
    expect(await claim()).toHaveLength(1);
    const log = await readDeliveries(database.pool, scopeOf(tenant), { status: 'failed' }, 10);
    expect(log.map(({ webhookId }) => webhookId).sort()).toEqual([deleted, disabled].sort());
  });

  test('an instance that is alone ends the leases of first attempts when it starts', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await makeDue(tenant, 1);
    await claim();
    await releaseLeases(database.pool);
    expect(await claim()).toHaveLength(1);
  });
});
