import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Webhooks } from './support.ts';

describe('while results of attempts cannot be recorded', () => {
  let rms: Webhooks;
  let receiver: Receiver;
  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
    await rms?.stop();
  });

  const isServing = async () => (await rms.health.check({})).status === ServingStatus.SERVING;
  /** Keeps results from being written, until the function that it answers with is called. */
  const holdLog = async () => {
    const holder = await rms.database.pool.connect();
    await holder.query('begin');
    await holder.query('lock table webhooks.delivery_log in share row exclusive mode');
    return async () => {
      await holder.query('rollback');
      holder.release();
    };
  };
  /** Ends the sessions that wait to write results, as a server that goes away does. */
  const breakWriters = async () => {
    const { rowCount } = await rms.database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'webhooks' and wait_event_type = 'Lock' and position('all_attempts' in query) > 0
          and datname = current_database()`,
    );
    return rowCount ?? 0;
  };

  test('nothing more is attempted, nor what was attempted again though its lease ends; then all is recorded, once', async () => {
    const tenant = newTenant();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    receiver.respondWith(async (_, response) => {
      await answered;
      response.end();
    });
    await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
    await rms.publish(...Array.from({ length: 5 }, () => newEvent(tenant)));
    await waitUntil(() => receiver.requests.length === 5, { what: 'all attempts' });
    const release = await holdLog();
    answer();
    await waitUntil(async () => (await breakWriters()) > 0, { what: 'results to be written' });
    // As time does.
    await rms.database.pool.query("update webhooks.deliveries set due_at = now() - interval '1 second'");
    // It has looked for due deliveries since, and again its results were not written.
    await waitUntil(async () => !(await isServing()), { what: 'readiness to tell' });
    await waitUntil(async () => (await breakWriters()) > 0, { what: 'results to be written again' });
    await release();
    const log = await rms.settled(tenant, 5);
    expect(log.map(({ status, attempts }) => [status, attempts.length])).toEqual(
      Array.from({ length: 5 }, () => [DeliveryStatus.DELIVERED, 1]),
    );
    expect(receiver.requests).toHaveLength(5);
    await waitUntil(isServing, { what: 'readiness again' });
  });
});
