import { idTime, newId } from '@rms/base/ids';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { failAbandoned } from '../../src/engine/record/endings.ts';
import { newEvent, newEvents, newTenant, startWebhooks } from '../support.ts';

describe('while attempt results cannot be recorded', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  const isServing = async () => (await rms.health.check({})).status === ServingStatus.SERVING;
  /** Blocks the recording of results until the returned function is called. */
  const holdLog = async () => {
    const holder = await rms.database.pool.connect();
    await holder.query('begin');
    await holder.query('lock table webhooks.delivery_log in share row exclusive mode');
    return async () => {
      await holder.query('rollback');
      holder.release();
    };
  };
  /** Terminates the sessions that are waiting to write results, like a server shutdown. */
  const breakWriters = async () => {
    const { rowCount } = await rms.database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'webhooks' and wait_event_type = 'Lock' and position('all_attempts' in query) > 0
          and datname = current_database()`,
    );
    return rowCount ?? 0;
  };

  /** Detaches the log partition of the day of an event. Housekeeping does not create it again. */
  const detachLogOf = async (eventId: string) => {
    const { pool } = rms.database;
    const day = new Date(idTime(eventId)).toISOString().slice(0, 10).replaceAll('-', '');
    const part = `webhooks.delivery_log_${day}`;
    const { rows } = await pool.query<{ bound: string }>(
      'select pg_get_expr(relpartbound, oid) as bound from pg_class where oid = $1::regclass',
      [part],
    );
    await pool.query(`alter table webhooks.delivery_log detach partition ${part}`);
    return () => pool.query(`alter table webhooks.delivery_log attach partition ${part} ${rows[0]?.bound}`);
  };

  test('no attempts start or are repeated, even after leases expire; later every result is recorded once', async () => {
    const tenant = newTenant();
    let response = () => {};
    const responded = new Promise<void>((resolve) => {
      response = resolve;
    });
    receiver.respondWith(async (_, response) => {
      await responded;
      response.end();
    });
    await rms.subscribe(tenant, receiver.url);
    await rms.publish(...newEvents(tenant, 5));
    await waitUntil(() => receiver.requests.length === 5, { what: 'all attempts' });
    const release = await holdLog();
    response();
    await waitUntil(async () => (await breakWriters()) > 0, { what: 'results to be written' });
    // Makes the leases expire.
    await rms.database.pool.query("update webhooks.deliveries set due_at = now() - interval '1 second'");
    // By then the engine has polled for due deliveries, and a second attempt to write the results has failed.
    await waitUntil(async () => !(await isServing()), { what: 'the service to become unready' });
    await waitUntil(async () => (await breakWriters()) > 0, { what: 'results to be written again' });
    await release();
    const log = await rms.settled(tenant, 5);
    expect(log.map(({ status, attempts }) => [status, attempts.length])).toEqual(
      Array.from({ length: 5 }, () => [DeliveryStatus.DELIVERED, 1]),
    );
    expect(receiver.requests).toHaveLength(5);
    await waitUntil(isServing, { what: 'the service to become ready' });
  });

  test('a delivery that cannot be recorded blocks neither other deliveries nor disabling its webhook', async () => {
    const tenant = newTenant();
    const { pool } = rms.database;
    const responses: (() => void)[] = [];
    receiver.respondWith((_, response) => void responses.push(() => response.end()));
    const { id } = await rms.subscribe(tenant, receiver.url);
    const called = receiver.requests.length;
    const old = { ...newEvent(tenant), id: newId('evt', Date.now() - 3 * 24 * 3_600_000) };
    await rms.publish(old, newEvent(tenant), newEvent(tenant));
    await waitUntil(() => responses.length === 3, { what: 'the attempts' });
    const reattach = await detachLogOf(old.id);
    for (const response of responses) response();

    // The service becomes unready when it retries to record results.
    const deliveredOrUnready = async () => {
      const delivered = await rms.list(tenant, { status: DeliveryStatus.DELIVERED });
      return delivered.length === 2 || !(await isServing()) ? { delivered: delivered.length } : undefined;
    };
    expect(await waitUntil(deliveredOrUnready, { what: 'the other results' })).toEqual({ delivered: 2 });
    await waitUntil(async () => (await rms.list(tenant, { status: DeliveryStatus.RETRYING })).length === 1, {
      what: 'the unrecorded delivery to be postponed',
    });
    const { values } = (await rms.metrics.getSingleMetric('rms_delivery_attempts_lost_total')?.get()) ?? {};
    expect(values).toContainEqual(expect.objectContaining({ labels: { reason: 'unrecorded' }, value: 1 }));
    expect(await isServing()).toBe(true);
    expect(receiver.requests).toHaveLength(called + 3);

    const disabled = await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.DISABLED });
    expect(disabled.webhook?.status).toBe(WebhookStatus.DISABLED);
    const { workspaceId } = tenant;
    const fail = () => failAbandoned(pool, { workspaceId, environment: 'live', id }, new AbortController().signal);
    expect(await fail()).toMatchObject([{ row: { workspace_id: tenant.workspaceId }, error: { code: '23514' } }]);
    await reattach();
    expect(await fail()).toEqual([]);
    const log = await rms.settled(tenant, 3);
    expect(log.find(({ eventId }) => eventId === old.id)?.status).toBe(DeliveryStatus.FAILED);
  });
});
