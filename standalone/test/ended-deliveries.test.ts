import { newId } from '@rms/base/ids';
import {
  callApi,
  freePort,
  perSuite,
  type Standalone,
  startReceiver,
  startStandalone,
  testDatabase,
  waitUntil,
} from '@rms/testkit';

type Counts = Readonly<Record<'delivered' | 'failed' | 'canceled', number>>;
interface Webhook {
  readonly id: string;
}
interface Delivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly status: string;
  readonly end_reason: string | null;
}

const dayMs = 86_400_000;
const environment = 'live';

describe('A delivery counts however it ends', () => {
  let standalone: Standalone;
  let metricsUrl: string;
  let key: string;
  let password: string;
  let cookie: string;
  let workspace: string;
  afterAll(() => standalone?.stop());
  const database = perSuite(() => testDatabase([]));
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    receiver.respondWith(({ path }, response) => void response.writeHead(Number(path.slice(1, 4))).end());
    const metricsPort = await freePort();
    metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    standalone = await startStandalone({
      env: {
        DATABASE_URL: database.url,
        METRICS_ADDRESS: `127.0.0.1:${metricsPort}`,
        WEBHOOK_ALLOW_HTTP: 'true',
        WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
        LOG_RETENTION_DAYS: '30',
      },
    });
    const output = standalone.output();
    key = /sk_live_\w+/.exec(output)?.[0] ?? '';
    password = /password +(\S+)/.exec(output)?.[1] ?? '';
    await signIn();
    const { rows } = await database.pool.query<{ id: string }>('select id from auth.workspaces');
    workspace = rows[0]?.id ?? '';
  });

  const rest = async <T>(method: string, path: string, json?: object): Promise<T> => {
    const { status, body } = await callApi<{ data: T }>(method, standalone.liveUrl + path, key, json);
    expect([method, path, status < 300]).toEqual([method, path, true]);
    return body?.data;
  };
  const signIn = async () => {
    const origin = standalone.dashboardUrl;
    const response = await fetch(`${origin}/api/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: origin, 'Sec-Fetch-Site': 'same-origin' },
      body: JSON.stringify({ email: 'owner@localhost', password }),
    });
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  };
  const dashboard = async <T>(path: string): Promise<T> => {
    const url = `${standalone.dashboardUrl}/api/workspaces/${workspace}/${environment}${path}`;
    return (await fetch(url, { headers: { Cookie: cookie } })).json() as Promise<T>;
  };
  /** Creates a webhook with an endpoint that responds with `status`. Its retries are far in the future. */
  const subscribe = (status: number, maxRetries = 5) => {
    const retryPolicy = { max_retries: maxRetries, initial_delay: 86_400, max_delay: 86_400 };
    return rest<Webhook>('POST', '/v1/webhooks', {
      url: `${receiver.url}/${status}/${newId('evt')}`,
      events: ['resource.created'],
      retry_policy: retryPolicy,
    });
  };
  const emit = () => rest('POST', '/v1/resources', { name: 'Counted' });
  const queuedFor = (webhook: Webhook, count: number) =>
    waitUntil(
      async () => {
        const { rows } = await database.pool.query<{ id: string; event_id: string }>(
          'select id, event_id from webhooks.deliveries where webhook_id = $1 and tries > 0 order by id',
          [webhook.id],
        );
        return rows.length === count && rows;
      },
      { what: `${count} failed first attempts` },
    );
  const statusOf = async ({ id }: Webhook) => (await rest<{ status: string }>('GET', `/v1/webhooks/${id}`)).status;
  const untilDisabled = (webhook: Webhook) =>
    waitUntil(async () => (await statusOf(webhook)) === 'disabled', { what: 'the webhook to be disabled' });

  /** The workspace's log, as stored. */
  const logged = async () => {
    const { rows } = await database.pool.query<Delivery>(
      'select id, webhook_id, status, end_reason from webhooks.delivery_log order by id desc',
    );
    return rows.map((row) => (row.end_reason === 'canceled' ? { ...row, status: 'canceled' } : row));
  };
  const countsIn = (deliveries: readonly Delivery[]): Counts => {
    const of = (status: string) => deliveries.filter((one) => one.status === status).length;
    return { delivered: of('delivered'), failed: of('failed'), canceled: of('canceled') };
  };
  const metricCounts = async (): Promise<Counts> => {
    const text = await (await fetch(metricsUrl)).text();
    const of = (status: string) =>
      [...text.matchAll(/^rms_deliveries_ended_total\{(.*)\} (\d+)$/gm)]
        .filter(([, labels = '']) => labels.includes(`status="${status}"`))
        .reduce((sum, [, , value]) => sum + Number(value), 0);
    return { delivered: of('delivered'), failed: of('failed'), canceled: of('canceled') };
  };
  const sum = (one: Counts, other: Counts): Counts => ({
    delivered: one.delivered + other.delivered,
    failed: one.failed + other.failed,
    canceled: one.canceled + other.canceled,
  });
  const pick = ({ delivered, failed, canceled }: Counts): Counts => ({ delivered, failed, canceled });

  /** Waits until all counts agree with the log. */
  const allAgree = async (log: readonly Delivery[], webhooks: readonly Webhook[], metrics: () => Promise<Counts>) => {
    const expected = countsIn(log);
    const agrees = (name: string, read: () => Promise<Counts>, counts = expected) =>
      waitUntil(async () => JSON.stringify(pick(await read())) === JSON.stringify(counts), {
        what: `${name} to show ${JSON.stringify(counts)}`,
      });
    const metricsPath = `/metrics/deliveries?from=${new Date(Date.now() - dayMs).toISOString()}`;
    await agrees('the metrics', metrics);
    await agrees('the overview', async () => (await dashboard<{ meta: { total: Counts } }>(metricsPath)).meta.total);
    await agrees('alerts', async () => {
      const { rows } = await database.pool.query<Counts>(
        `select sum(delivered)::integer as delivered, sum(failed)::integer as failed, sum(canceled)::integer as canceled
           from alerts.delivery_counts where webhook_id <> '' and period = 'month'`,
      );
      return rows[0] as Counts;
    });
    await agrees('rms', async () => {
      const { data } = await standalone.rms<{ data: { status: string; count: number }[] }>(
        ...['deliveries', 'count', '--by', 'status'],
      );
      return Object.fromEntries(data.map(({ status, count }) => [status, count])) as unknown as Counts;
    });
    for (const { id } of webhooks) {
      await agrees(
        `the page of ${id}`,
        async () => {
          const { data } = await dashboard<{ data: { health: { last_hour: Counts } } }>(
            `/webhooks/${id}?full_health=true`,
          );
          return data.health.last_hour;
        },
        countsIn(log.filter((one) => one.webhook_id === id)),
      );
    }
  };

  test('overview, webhook page, metrics, alerts and `rms deliveries count` agree with the tables', async () => {
    const [good, exhausted, gone] = [await subscribe(200), await subscribe(500, 0), await subscribe(410)];
    const [disabled, deleted, failing] = [await subscribe(500), await subscribe(500), await subscribe(500)];
    const [canceled, expiring, erased] = [await subscribe(500), await subscribe(500), await subscribe(500)];
    await emit();
    await untilDisabled(gone);
    for (const webhook of [disabled, deleted, failing, canceled, expiring, erased]) await queuedFor(webhook, 1);

    const { rms } = standalone;
    await rms('webhooks', 'disable', disabled.id);
    await rest('DELETE', `/v1/webhooks/${deleted.id}`);
    const [toCancel] = await queuedFor(canceled, 1);
    await rest('POST', `/v1/deliveries/${toCancel?.id}/cancel`, {});

    await rest('PATCH', `/v1/webhooks/${failing.id}`, {
      retry_policy: { max_retries: 0, initial_delay: 60, max_delay: 60 },
    });
    await database.pool.query("update webhooks.webhooks set failing_since = now() - interval '9 days' where id = $1", [
      failing.id,
    ]);
    await emit();
    await untilDisabled(failing);

    const [toErase] = await queuedFor(erased, 2);
    await database.pool.query('update webhooks.events set body = null where id = $1', [toErase?.event_id]);
    await database.pool.query('update webhooks.deliveries set due_at = now() where id = $1', [toErase?.id]);

    // The last minutes of the oldest day that the log has.
    const [toExpire] = await queuedFor(expiring, 2);
    const oldest = newId('dlv', Math.floor(Date.now() / dayMs) * dayMs - 30 * dayMs + dayMs / 2);
    await database.pool.query(
      "select webhooks.make_partitions((now() at time zone 'UTC')::date - 31, (now() at time zone 'UTC')::date)",
    );
    database.breaks(['deliveries'], 'makes a delivery older by another ID');
    await database.pool.query('update webhooks.deliveries set id = $2 where id = $1', [toExpire?.id, oldest]);

    const reasons = (deliveries: readonly Delivery[]) => new Set(deliveries.map((one) => one.end_reason));
    const webhooks = [good, exhausted, gone, disabled, failing, canceled, expiring, erased];
    const settled = await waitUntil(
      async () => {
        const log = await logged();
        const endedOf = ({ id }: Webhook) => log.filter((one) => one.webhook_id === id).length;
        return endedOf(good) === 2 && endedOf(exhausted) === 2 && endedOf(erased) === 1 && log;
      },
      { what: 'the deliveries to end' },
    );
    await allAgree(settled, webhooks, metricCounts);
    const before = countsIn(settled);
    // Shown counts are not lost. The metrics' counters begin again.
    await standalone.kill();
    // Housekeeping ends expired deliveries directly after the start.
    await standalone.restart();
    await signIn();
    const log = await waitUntil(async () => (await logged()).some((one) => one.id === oldest) && logged(), {
      what: 'the delivery to expire',
    });
    expect(reasons(log)).toEqual(
      new Set([
        null,
        'retries_exhausted',
        'endpoint_gone',
        'webhook_disabled',
        'webhook_deleted',
        'canceled',
        'event_erased',
        'expired',
      ]),
    );
    for (const { status, end_reason: reason } of log)
      expect([status, reason === null]).toEqual([status, status === 'delivered']);

    await allAgree(log, webhooks, async () => sum(before, await metricCounts()));

    const shown = (deliveries: readonly Delivery[]) =>
      deliveries
        .filter(({ status }) => status !== 'retrying')
        .map(({ id, status, end_reason }) => [id, status, end_reason]);
    const wanted = shown(log);
    expect(shown(await rest<Delivery[]>('GET', '/v1/deliveries?per_page=100'))).toEqual(wanted);
    expect(shown((await dashboard<{ data: Delivery[] }>('/deliveries')).data)).toEqual(wanted);
    expect(shown((await rms<{ data: Delivery[] }>('deliveries', 'list')).data)).toEqual(wanted);
    expect(await rest<Delivery>('GET', `/v1/deliveries/${toCancel?.id}`)).toMatchObject({ end_reason: 'canceled' });
  });
});
