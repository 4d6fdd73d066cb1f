import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newEvents, newTenant, startWebhooks, type Tenant, toRecord, type Webhooks } from '../support.ts';

const webhookOf = async (rms: Webhooks, tenant: Tenant, url: string) => (await rms.subscribe(tenant, url)).id;

/** Adds `count` disabled webhooks with IDs that sort after all others. Their deliveries are logged as skipped. */
const addDisabled = ({ database }: Webhooks, { workspaceId }: Tenant, count: number) =>
  database.pool.query(
    `insert into webhooks.webhooks
     select (jsonb_populate_record(w, jsonb_build_object('id', 'wh_z' || lpad(n::text, 6, '0'), 'status', 'disabled'))).*
       from webhooks.webhooks as w cross join generate_series(1, $2) as n where w.workspace_id = $1`,
    [workspaceId, count],
  );

const logged = async ({ database }: Webhooks, { workspaceId }: Tenant) => {
  const { rows } = await database.pool.query<{ deliveries: number; largest: number }>(
    `select coalesce(sum(count), 0)::int as deliveries, coalesce(max(count), 0)::int as largest
       from (select count(*) from webhooks.delivery_log where workspace_id = $1 group by xmin) as transactions`,
    [workspaceId],
  );
  return rows[0] ?? { deliveries: 0, largest: 0 };
};

const deferred = async ({ database }: Webhooks) =>
  (await database.pool.query('select from webhooks.deferred_events')).rowCount;

test('a fan-out statement that times out is retried without loss or duplicates', async () => {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  const tenant = newTenant();
  await webhookOf(rms, tenant, receiver.url);
  const { pool } = rms.database;
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query('lock table webhooks.feeds');
  const events = newEvents(tenant, 40);
  const published = rms.publish(...events);
  let lastTry = '';
  const cancel = async () => {
    const { rows } = await pool.query<{ started: string }>(
      `select query_start::text as started, pg_cancel_backend(pid) from pg_stat_activity
        where application_name = 'webhooks' and wait_event_type = 'Lock' and datname = current_database()
          and query_start::text <> $1`,
      [lastTry],
    );
    lastTry = rows[0]?.started ?? lastTry;
    return rows.length === 1;
  };
  for (let i = 0; i < 2; i += 1) await waitUntil(cancel, { what: `try ${i + 1} of fan-out`, everyMs: 5 });
  await holder.query('rollback');
  holder.release();
  await published;
  await rms.settled(tenant, 40);
  expect(receiver.requests).toHaveLength(40);
  const { rows } = await pool.query('select count(distinct position)::int as positions from webhooks.events');
  expect(rows).toEqual([{ positions: 40 }]);
  await receiver.close();
  await rms.stop();
});

describe('a tenant with more webhooks than one statement handles', () => {
  test('gets each delivery once, in order, in several transactions; other tenants get theirs meanwhile', async () => {
    const rms = await startWebhooks();
    const receiver = await startReceiver();
    const [large, other] = [newTenant(), newTenant()];
    const ordered = await webhookOf(rms, large, receiver.url);
    await rms.webhooks.updateWebhook({ ...large, id: ordered, ordered: true });
    await addDisabled(rms, large, 2_100);
    await webhookOf(rms, other, receiver.url);
    const events = [1n, 2n, 3n].map((sequence) =>
      Object.assign(newEvent(large, 'resource.updated', 'thing', 'res_1'), {
        sequence,
        traceparent: `00-${'ab'.repeat(16)}-00f067aa0ba902b7-01`,
        tracestate: `vendor=${sequence}`,
      }),
    );
    await rms.publish(...events, newEvent(other));
    await rms.settled(other, 1);
    await waitUntil(async () => (await logged(rms, large)).deliveries === 3 * 2_101, { what: 'all deliveries' });
    expect((await logged(rms, large)).largest).toBeLessThanOrEqual(1_000);
    expect(await deferred(rms)).toBe(0);
    const sent = receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);
    expect(sent.filter((id) => events.some((event) => event.id === id))).toEqual(events.map(({ id }) => id));
    const states = receiver.requests.flatMap(({ headers: { tracestate } }) => tracestate ?? []);
    expect(states).toEqual(events.map(({ tracestate }) => tracestate));
    await receiver.close();
    await rms.stop();
  });

  test('gets every delivery once if the connection breaks in the middle', async () => {
    const rms = await startWebhooks();
    const receiver = await startReceiver();
    const tenant = newTenant();
    await webhookOf(rms, tenant, receiver.url);
    await addDisabled(rms, tenant, 1_500);
    const { pool } = rms.database;
    const holder = await pool.connect();
    await holder.query('begin');
    // The first chunk's deliveries can be inserted, but the chunk cannot be completed.
    await holder.query('lock table webhooks.deferred_events in share mode');
    const event = newEvent(tenant);
    const published = rms.publish(event);
    const blocked = async () =>
      (
        await pool.query<{ pid: number; query: string }>(
          `select pid, query from pg_stat_activity
            where application_name = 'webhooks' and wait_event_type = 'Lock' and datname = current_database()`,
        )
      ).rows;
    await waitUntil(async () => (await blocked()).length > 0, { what: 'fan-out to wait for the lock' });
    await holder.query('rollback');
    await published;
    await holder.query('begin');
    await holder.query('select from webhooks.deferred_events for update');
    const [first] = await waitUntil(async () => ((await blocked()).length > 0 ? blocked() : undefined), {
      what: 'a chunk to wait for the lock',
    });
    await pool.query('select pg_terminate_backend($1)', [first?.pid]);
    await waitUntil(async () => (await blocked()).some(({ pid }) => pid !== first?.pid), { what: 'another try' });
    await holder.query('rollback');
    holder.release();
    await waitUntil(async () => (await logged(rms, tenant)).deliveries === 1_501, { what: 'all deliveries' });
    expect(receiver.requests).toHaveLength(1);
    await receiver.close();
    await rms.stop();
  });
});

test('few webhooks, many events: later statements create the deliveries beyond the limit of a statement', async () => {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  const tenant = newTenant();
  await webhookOf(rms, tenant, receiver.url);
  await addDisabled(rms, tenant, 19);
  await rms.publish(...newEvents(tenant, 120));
  await waitUntil(async () => (await logged(rms, tenant)).deliveries === 120 * 20, { what: 'all deliveries' });
  expect((await logged(rms, tenant)).largest).toBeLessThanOrEqual(1_000);
  expect(await rms.list(tenant, { status: DeliveryStatus.DELIVERED })).toHaveLength(120);
  await receiver.close();
  await rms.stop();
});

test('a tenant whose events cannot be stored does not delay other tenants, in its batch and in later ones', async () => {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  const [stuck, together, later] = [newTenant(), newTenant(), newTenant()];
  for (const tenant of [stuck, together, later]) await webhookOf(rms, tenant, receiver.url);
  await rms.publish(newEvent(stuck));
  const holder = await rms.database.pool.connect();
  await holder.query('begin');
  await holder.query('select from webhooks.feeds where workspace_id = $1 for update', [stuck.workspaceId]);
  const published = rms.publish(newEvent(stuck), newEvent(together));
  await rms.settled(together, 1);
  const publishLater = () =>
    rms.bus.publish(
      { topic: 'rms.resource-events.v1', partition: 1, records: [toRecord(newEvent(later))] },
      AbortSignal.timeout(60_000),
    );
  await publishLater();
  await publishLater();
  await rms.settled(later, 2);
  expect(await rms.list(stuck)).toHaveLength(1);
  await holder.query('rollback');
  holder.release();
  await published;
  await rms.settled(stuck, 2);
  expect(receiver.requests).toHaveLength(5);
  await receiver.close();
  await rms.stop();
});
