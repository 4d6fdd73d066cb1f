import { addLatency, latencyQuantile, noLatencies } from '@rms/reporting/usage';
import {
  freePort,
  perSuite,
  type Standalone,
  startReceiver,
  startStandalone,
  testDatabase,
  waitUntil,
} from '@rms/testkit';

const countNames = ['created', 'delivered', 'failed', 'canceled', 'skipped', 'filtered', 'attempts'] as const;
type Counts = Record<(typeof countNames)[number], number>;
type Percentiles = Record<'p50_ms' | 'p95_ms' | 'p99_ms', number | null>;
interface Series<T> {
  readonly data: readonly (T & { readonly start: string; readonly group?: string })[];
  readonly meta: { readonly total: T };
}
type DeliveryMetrics = Series<Counts & Percentiles>;
type RequestMetrics = Series<
  Record<'count' | 'errors_4xx' | 'errors_5xx' | 'rate_limited', number> & Record<'p95_ms', number | null>
>;
interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly health: { readonly state: string; readonly pending: number; readonly oldest_pending_at: string | null };
}
/** A delivery as stored. */
interface Row {
  readonly webhook_id: string;
  readonly event_type: string;
  /** Of a queued delivery: pending. */
  readonly status: string;
  readonly attempts: readonly {
    readonly error: string;
    readonly status_code: number;
    readonly duration_ms: number;
  }[];
  readonly created_at: Date;
}

const none: Counts = { created: 0, delivered: 0, failed: 0, canceled: 0, skipped: 0, filtered: 0, attempts: 0 };

describe('Metrics with three broken endpoints', () => {
  let standalone: Standalone;
  let key: string;
  let cookie: string;
  let workspace: string;
  afterAll(() => standalone?.stop());
  const database = perSuite(() => testDatabase([]));
  const receiver = perSuite(() => startReceiver({ path: '' }));

  const send = async (method: string, path: string, json?: object) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const body = json ? { body: JSON.stringify(json) } : {};
    const response = await fetch(standalone.liveUrl + path, { method, headers, ...body });
    return { status: response.status, body: response.status === 204 ? undefined : await response.json() };
  };
  const rest = async <T>(method: string, path: string, json?: object): Promise<T> => {
    const { status, body } = await send(method, path, json);
    expect([method, path, status < 300]).toEqual([method, path, true]);
    return body as T;
  };
  const dashboard = async <T>(path: string): Promise<T> => {
    const url = `${standalone.dashboardUrl}/api/workspaces/${workspace}/live${path}`;
    return (await fetch(url, { headers: { Cookie: cookie } })).json() as Promise<T>;
  };
  const from = new Date(Date.now() - 2 * 86_400_000).toISOString();
  const ofDeliveries = (query = '') =>
    rest<DeliveryMetrics>('GET', `/v1/metrics/deliveries?from=${from}&granularity=day${query}`);
  const ofRequests = (query = '') =>
    rest<RequestMetrics>('GET', `/v1/metrics/requests?from=${from}&granularity=day${query}`);

  /** All deliveries, as stored. */
  const stored = async (): Promise<readonly Row[]> => {
    const { rows } = await database.pool.query<Row>(
      `select webhook_id, event_type, 'pending' as status, attempts, created_at from webhooks.deliveries
        union all
       select webhook_id, event_type, case when end_reason = 'canceled' then end_reason else status end, attempts, created_at
         from webhooks.delivery_log`,
    );
    return rows;
  };
  const countsOf = (rows: readonly Row[]): Counts => {
    const of = (status: string) => rows.filter((row) => row.status === status).length;
    return {
      created: rows.length - of('skipped'),
      delivered: of('delivered'),
      failed: of('failed'),
      canceled: of('canceled'),
      skipped: of('skipped'),
      filtered: 0,
      attempts: rows.reduce((sum, { attempts }) => sum + attempts.length, 0),
    };
  };
  const pick = (counts: Counts): Counts => Object.fromEntries(countNames.map((name) => [name, counts[name]])) as Counts;
  /** Sums of a series by group. */
  const byGroup = ({ data }: DeliveryMetrics): Record<string, Counts> => {
    const sums: Record<string, Counts> = {};
    for (const { group = '', ...point } of data) {
      const sum = sums[group] ?? none;
      sums[group] = Object.fromEntries(countNames.map((name) => [name, sum[name] + point[name]])) as Counts;
    }
    return sums;
  };
  const grouped = (rows: readonly Row[], keyOf: (row: Row) => string) =>
    Object.fromEntries(
      [...new Set(rows.map(keyOf))].map((name) => [name, countsOf(rows.filter((row) => keyOf(row) === name))]),
    );
  /** Counts by the result of attempts. An ended delivery belongs to its last attempt, if that ended it. */
  const byResult = (rows: readonly Row[], classOf: (attempt: Row['attempts'][number] | undefined) => string) => {
    const sums: Record<string, Counts> = {};
    const add = (group: string, name: keyof Counts) => {
      sums[group] = { ...(sums[group] ?? none), [name]: (sums[group]?.[name] ?? 0) + 1 };
    };
    for (const { status, attempts } of rows) {
      add(classOf(undefined), status === 'skipped' ? 'skipped' : 'created');
      for (const attempt of attempts) add(classOf(attempt), 'attempts');
      if (status === 'delivered' || status === 'failed') add(classOf(attempts.at(-1)), status);
      if (status === 'canceled') add(classOf(undefined), status);
    }
    return sums;
  };
  const agrees = (what: string, read: () => Promise<unknown>, expected: unknown) =>
    waitUntil(
      async () => {
        const shown = await read();
        try {
          expect(shown).toEqual(expected);
          return true;
        } catch {
          return false;
        }
      },
      { what: `${what} to be ${JSON.stringify(expected)}` },
    );
  const subscribe = async (url: string, retryPolicy: object, events = ['*']) => {
    const body = { url, events, retry_policy: retryPolicy };
    return (await rest<{ data: Webhook }>('POST', '/v1/webhooks', body)).data;
  };

  test('every number agrees with the database', async () => {
    receiver.respondWith(({ path }, response) => void response.writeHead(Number(path.slice(1, 4))).end());
    standalone = await startStandalone({
      env: { DATABASE_URL: database.url, WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
    });
    const output = standalone.output();
    key = /sk_live_\w+/.exec(output)?.[0] ?? '';
    const origin = standalone.dashboardUrl;
    const signedIn = await fetch(`${origin}/api/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: origin, 'Sec-Fetch-Site': 'same-origin' },
      body: JSON.stringify({ email: 'owner@localhost', password: /password +(\S+)/.exec(output)?.[1] ?? '' }),
    });
    cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    workspace = (await rest<{ data: { id: string } }>('GET', '/v1/workspace')).data.id;

    const inAnHour = { max_retries: 5, initial_delay: 3_600, max_delay: 3_600 };
    const working = await subscribe(`${receiver.url}/200`, inAnHour);
    // Fails after a retry; refuses connections; is gone after the first delivery. None opens its circuit.
    const failing = await subscribe(`${receiver.url}/500`, { delays: [0.1] }, ['resource.created']);
    const dead = await subscribe(`http://127.0.0.1:${await freePort()}/`, inAnHour);
    const gone = await subscribe(`${receiver.url}/410`, inAnHour);

    const create = async () => (await rest<{ data: { id: string } }>('POST', '/v1/resources', { name: 'R' })).data;
    const first = await create();
    await waitUntil(
      async () =>
        (await rest<{ data: { status: string } }>('GET', `/v1/webhooks/${gone.id}`)).data.status === 'disabled',
      { what: 'the gone webhook to be disabled' },
    );
    await rest('PATCH', `/v1/resources/${first.id}`, { status: 'inactive' });
    for (let i = 0; i < 3; i += 1) await create();
    await rest('DELETE', `/v1/resources/${first.id}`);
    expect((await send('GET', `/v1/resources/${first.id}`)).status).toBe(404);
    expect((await send('GET', '/v1/unknown')).status).toBe(404);

    // 7 events, 4 of them resource.created. All deliveries end, but those to the endpoint that refuses connections.
    const queued = await waitUntil(
      async () => {
        const rows = await stored();
        const isDone =
          rows.length === 25 && rows.every(({ attempts, status }) => attempts.length > 0 || status === 'skipped');
        return isDone && rows.filter(({ status }) => status === 'pending').length === 7 && rows;
      },
      { what: 'the deliveries to end' },
    );
    expect(new Set(queued.filter(({ status }) => status === 'pending').map((row) => row.webhook_id))).toEqual(
      new Set([dead.id]),
    );
    const { data: pending } = await rest<{ data: { id: string }[] }>('GET', `/v1/deliveries?webhook_id=${dead.id}`);
    await rest('POST', `/v1/deliveries/${pending[0]?.id}/cancel`, {});
    const rows = await stored();
    expect(countsOf(rows)).toMatchObject({ created: 19, delivered: 7, failed: 5, canceled: 1, skipped: 6 });

    await agrees('the total', async () => pick((await ofDeliveries()).meta.total), countsOf(rows));
    await agrees(
      'the webhooks',
      async () => byGroup(await ofDeliveries('&group_by=webhook_id')),
      grouped(rows, (row) => row.webhook_id),
    );
    await agrees(
      'the event types',
      async () => byGroup(await ofDeliveries('&group_by=event_type')),
      grouped(rows, (row) => row.event_type),
    );
    const errorOf = (attempt: Row['attempts'][number] | undefined) => {
      if (!attempt || attempt.error === '') return 'none';
      return attempt.status_code > 0
        ? `${Math.floor(attempt.status_code / 100)}xx`
        : (attempt.error.split(':')[0] ?? '');
    };
    await agrees(
      'the error classes',
      async () => byGroup(await ofDeliveries('&group_by=error_class')),
      byResult(rows, errorOf),
    );
    const statusOf = (attempt: Row['attempts'][number] | undefined) =>
      attempt && attempt.status_code > 0 ? `${Math.floor(attempt.status_code / 100)}xx` : 'none';
    await agrees(
      'the classes of statuses',
      async () => byGroup(await ofDeliveries('&group_by=status_class')),
      byResult(rows, statusOf),
    );
    for (const { id } of [working, failing, dead, gone]) {
      const own = rows.filter((row) => row.webhook_id === id);
      const query = `&webhook_id=${id}`;
      expect(pick((await ofDeliveries(query)).meta.total)).toEqual(countsOf(own));
      expect(byGroup(await ofDeliveries(`${query}&group_by=status_class`))).toEqual(byResult(own, statusOf));
      expect(byGroup(await ofDeliveries(`${query}&group_by=event_type`))).toEqual(
        grouped(own, (row) => row.event_type),
      );
    }
    const latencies = noLatencies();
    for (const { duration_ms: ms } of rows.flatMap(({ attempts }) => attempts)) addLatency(latencies, ms);
    const { p50_ms: p50, p95_ms: p95, p99_ms: p99 } = (await ofDeliveries()).meta.total;
    expect([p50, p95, p99]).toEqual(
      [0.5, 0.95, 0.99].map((share) => Math.round(latencyQuantile(latencies, share) * 100) / 100),
    );

    // The dashboard shows the same documents, the backlog and the health of the endpoints.
    expect((await dashboard<DeliveryMetrics>(`/metrics/deliveries?from=${from}&granularity=day`)).meta.total).toEqual(
      (await ofDeliveries()).meta.total,
    );
    const left = (await stored()).filter(({ status }) => status === 'pending');
    const oldestAt = new Date(Math.min(...left.map((row) => row.created_at.getTime()))).toISOString();
    expect(await dashboard('/unfinished-deliveries')).toEqual({ count: 6, oldest_at: oldestAt });
    const { data: webhooks } = await dashboard<{ data: Webhook[] }>('/webhooks?full_health=true&per_page=100');
    const healthOf = (webhook: Webhook) => webhooks.find(({ id }) => id === webhook.id)?.health;
    expect(healthOf(dead)).toMatchObject({ state: 'failing', pending: 6, oldest_pending_at: oldestAt });
    expect(healthOf(failing)).toMatchObject({ state: 'failing', pending: 0, oldest_pending_at: null });
    expect(healthOf(gone)).toMatchObject({ state: 'disabled', pending: 0 });
    expect(healthOf(working)).toMatchObject({ state: 'healthy', pending: 0 });
  });

  test('requests agree with the request log', async () => {
    const { data: keys } = await rest<{ data: { id: string }[] }>('GET', '/v1/api_keys');
    const log = async () => {
      const { rows } = await database.pool.query<Record<'method' | 'route' | 'key_id', string> & { status: number }>(
        "select method, route, status, key_id from auth.requests where key_id <> '' and route not like '/v1/metrics/%'",
      );
      return rows;
    };
    const routeOf = ({ method, route }: { method: string; route: string }) =>
      route.includes('*') || route === '' ? 'none' : `${method} ${route.replaceAll(/:(\w+)/g, '{$1}')}`;
    /** Without the requests for metrics, which change the counts. */
    const counted = async () => {
      const sums: Record<string, number> = {};
      for (const { group = '', count } of (await ofRequests('&group_by=route')).data) {
        if (!group.includes('/v1/metrics/')) sums[group] = (sums[group] ?? 0) + count;
      }
      return sums;
    };
    await waitUntil(
      async () => {
        const rows = await log();
        const expected: Record<string, number> = {};
        for (const row of rows) expected[routeOf(row)] = (expected[routeOf(row)] ?? 0) + 1;
        const shown = await counted();
        return (
          Object.keys(shown).length > 5 &&
          JSON.stringify(Object.entries(shown).sort()) === JSON.stringify(Object.entries(expected).sort())
        );
      },
      { what: 'the routes to agree with the request log' },
    );
    const rows = await log();
    const { total } = (await ofRequests()).meta;
    expect(total).toMatchObject({
      errors_4xx: rows.filter(({ status }) => status >= 400 && status < 500).length,
      errors_5xx: 0,
      rate_limited: 0,
      p95_ms: expect.any(Number),
    });
    const byStatus = (await ofRequests('&group_by=status_class')).data;
    expect(byStatus.filter(({ group }) => group === '4xx').reduce((sum, { count }) => sum + count, 0)).toBe(2);
    const byKey = (await ofRequests('&group_by=api_key_id')).data;
    expect(new Set(byKey.map(({ group }) => group))).toEqual(new Set(keys.map(({ id }) => id)));
  });
});
