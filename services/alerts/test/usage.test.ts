import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { DeliveryDimension, RequestDimension } from '@rms/proto/rms/alerts/v1/usage_pb';
import { DeliveryGrouping, MetricsGranularity, RequestGrouping } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { addLatency, noLatencies } from '@rms/reporting/usage';
import { perSuite, waitUntil } from '@rms/testkit';
import { forgetCounts, forgetReporters, forgetRuns } from '../src/usage/old-usage-queries.ts';
import { deliveryGroupNames, noSums, rowsOf, runsOf, startOf } from '../src/usage/usage.ts';
import { deliveryCounts, newTenant, requestCounts, startAlerts } from './support.ts';

describe('Periods', () => {
  const atMs = Date.UTC(2024, 1, 29, 23, 59, 30);

  test('start in UTC, with months and days of the correct length', () => {
    const starts = (['minute', 'hour', 'day', 'month'] as const).map((period) => new Date(startOf(period, atMs)));
    expect(starts.map((start) => start.toISOString())).toEqual([
      '2024-02-29T23:59:00.000Z',
      '2024-02-29T23:00:00.000Z',
      '2024-02-29T00:00:00.000Z',
      '2024-02-01T00:00:00.000Z',
    ]);
    expect(new Date(startOf('month', atMs, 1)).toISOString()).toBe('2024-03-01T00:00:00.000Z');
    expect(new Date(startOf('day', atMs, -29)).toISOString()).toBe('2024-01-31T00:00:00.000Z');
  });

  test('rows are merged and sorted by their keys', () => {
    const one = { workspaceId: 'ws_b', environment: 'live' as const, atMs, count: 1 };
    const later = { ...one, atMs: atMs + 60_000, count: 2 };
    const rows = rowsOf(
      [one, later, { ...one, workspaceId: 'ws_a' }],
      () => '',
      (a, b) => ({ ...a, count: a.count + b.count }),
    );
    const shown = rows.map(({ workspaceId, period, count }) => `${workspaceId} ${period} ${count}`);
    expect(shown.slice(0, 4)).toEqual(['ws_a day 1', 'ws_a hour 1', 'ws_a minute 1', 'ws_a month 1']);
    // The later count falls into the next month.
    expect(shown.slice(4)).toEqual([
      ...['ws_b day 1', 'ws_b day 2', 'ws_b hour 1', 'ws_b hour 2'],
      ...['ws_b minute 1', 'ws_b minute 2', 'ws_b month 1', 'ws_b month 2'],
    ]);
  });

  test('a run of failures spans the minutes of a report and ends with a successful attempt', () => {
    const base = { workspaceId: 'ws_a', environment: 'live' as const, webhookId: 'wh_1', url: '', lastError: '' };
    const counts = { ...base, ...noSums(deliveryGroupNames) };
    const failing = { ...counts, atMs, attempts: 3, failedAttempts: 3, failuresAtEnd: 3 };
    expect(runsOf([failing, { ...failing, atMs: atMs + 60_000 }])).toMatchObject([
      { failures: 6, lastSuccessMs: undefined, lastAttemptMs: atMs + 60_000 },
    ]);
    const mixed = { ...failing, atMs: atMs + 60_000, failedAttempts: 2, failuresAtEnd: 1 };
    expect(runsOf([mixed, failing])).toMatchObject([{ failures: 1, lastSuccessMs: atMs + 60_000 }]);
    const late = { ...failing, atMs: atMs + 60_000, lastError: 'status: 500' };
    expect(runsOf([late, { ...failing, lastError: 'status: 204' }])).toMatchObject([{ lastError: 'status: 500' }]);
  });
});

describe('Usage', () => {
  const alerts = perSuite(startAlerts);

  const report = (reporterId: string, sequence: number, parts: object) =>
    alerts.usage.reportUsage({ reporterId, sequence: BigInt(sequence), ...parts });
  const now = () => timestampFromMs(Date.now());
  const monthOf = async (of: object) => (await alerts.usage.getUsage(of)).month;
  /** The time since `fromMs`, by default an hour ago. */
  const range = (granularity = MetricsGranularity.MINUTE, fromMs = Date.now() - 3_600_000) => ({
    from: timestampFromMs(fromMs),
    to: timestampFromMs(Date.now() + 1),
    granularity,
  });
  const requestsOf = (of: object, given: object = {}) =>
    alerts.usage.getRequestMetrics({ ...of, range: range(), ...given });
  const deliveriesOf = (of: object, given: object = {}) =>
    alerts.usage.getDeliveryMetrics({ ...of, range: range(), ...given });
  const startsOf = (points: readonly { readonly startTime?: Timestamp | undefined }[]) =>
    points.map(({ startTime }) => (startTime ? timestampMs(startTime) : 0));

  test('is summed over reporters into minutes, hours, days and the month', async () => {
    const owner = newTenant();
    const latencies = noLatencies();
    for (let i = 0; i < 100; i += 1) addLatency(latencies, i < 90 ? 4 : 400);
    const counts = requestCounts({
      ...owner,
      time: now(),
      requests: 100,
      admitted: 98,
      clientErrors: 7,
      serverErrors: 3,
    });
    await report('one', 1, { requests: [{ ...counts, latencies: latencies.map(BigInt), rateLimited: 2n }] });
    await report('two', 1, { requests: [requestCounts({ ...owner, time: now(), requests: 10, admitted: 10 })] });
    for (const [granularity, lengthMs, intervals] of [
      [MetricsGranularity.MINUTE, 60_000, 61],
      [MetricsGranularity.HOUR, 3_600_000, 2],
      [MetricsGranularity.DAY, 86_400_000, 1],
    ] as const) {
      const { points, total } = await requestsOf(owner, { range: range(granularity) });
      const starts = startsOf(points);
      expect(points.length - intervals).toBeGreaterThanOrEqual(0);
      expect(points.length - intervals).toBeLessThanOrEqual(1);
      expect(starts.slice(1).map((at, i) => at - (starts[i] ?? 0))).toEqual(starts.slice(1).map(() => lengthMs));
      expect(starts.every((at) => at % lengthMs === 0)).toBe(true);
      const sum = (name: 'count' | 'clientErrors' | 'serverErrors' | 'rateLimited') =>
        points.reduce((all, point) => all + point[name], 0n);
      const sums = { count: 110n, clientErrors: 7n, serverErrors: 3n, rateLimited: 2n };
      expect(total).toMatchObject(sums);
      expect({
        count: sum('count'),
        clientErrors: sum('clientErrors'),
        serverErrors: sum('serverErrors'),
        rateLimited: sum('rateLimited'),
      }).toEqual(sums);
    }
    const busy = (await requestsOf(owner)).points.find(({ count }) => count > 0n);
    expect(busy?.p50Ms).toBeGreaterThanOrEqual(3);
    expect(busy?.p50Ms).toBeLessThanOrEqual(5);
    expect(busy?.p95Ms).toBeGreaterThanOrEqual(250);
    expect(await monthOf(owner)).toMatchObject({ used: 108n, quota: 1_000n });
  });

  test('has the same total for every granularity that covers the same requests', async () => {
    const owner = newTenant();
    const webhookId = newId('wh');
    // Two minutes with different latencies: the p95 of the slowest minute is not the p95 of all requests.
    for (const [sequence, ms, atMs] of [
      [1, 400, Date.now() - 60_000],
      [2, 4, Date.now()],
    ] as const) {
      const latencies = noLatencies();
      for (let i = 0; i < (ms === 4 ? 99 : 1); i += 1) addLatency(latencies, ms);
      const time = timestampFromMs(atMs);
      const requests = Number(ms === 4 ? 99 : 1);
      await report('total', sequence, {
        requests: [
          { ...requestCounts({ ...owner, time, requests, admitted: requests }), latencies: latencies.map(BigInt) },
        ],
        deliveries: [deliveryCounts({ ...owner, time, webhookId, attempts: 2, failedAttempts: 1, delivered: 1 })],
      });
    }
    const { MINUTE, HOUR, DAY } = MetricsGranularity;
    const totals = await Promise.all(
      [MINUTE, HOUR, DAY].map(async (granularity) => [
        { ...(await requestsOf(owner, { range: range(granularity) })).total, startTime: undefined },
        { ...(await deliveriesOf(owner, { range: range(granularity) })).total, startTime: undefined },
      ]),
    );
    const [requests, deliveries] = totals[0] ?? [];
    expect(requests).toMatchObject({ count: 100n });
    expect(deliveries).toMatchObject({ attempts: 4n, delivered: 2n });
    expect(Reflect.get(requests ?? {}, 'p95Ms')).toBeLessThanOrEqual(5);
    for (const other of totals) expect(other).toEqual(totals[0]);
  });

  test('groups of requests are series of their own', async () => {
    const owner = newTenant();
    const group = (dimension: RequestDimension, name: string, requests: number, clientErrors = 0) => ({
      dimension,
      name,
      counts: requestCounts({ ...owner, time: now(), requests, clientErrors }),
    });
    const { ROUTE, STATUS_CLASS, API_KEY_ID } = RequestDimension;
    const requestGroups = [
      group(ROUTE, 'GET /v1/resources', 3, 1),
      group(ROUTE, 'POST /v1/resources', 2),
      group(STATUS_CLASS, '2xx', 4),
      group(STATUS_CLASS, '4xx', 1, 1),
      group(API_KEY_ID, 'key_1', 5, 1),
    ];
    await report('groups', 1, { requestGroups });
    await report('groups', 1, { requestGroups });
    await report('groups', 2, { requestGroups });
    const shown = async (grouping: RequestGrouping) =>
      (await requestsOf(owner, { grouping })).points.map((one) => [one.group, one.count, one.clientErrors]);
    expect(await shown(RequestGrouping.ROUTE)).toEqual([
      ['GET /v1/resources', 6n, 2n],
      ['POST /v1/resources', 4n, 0n],
    ]);
    expect(await shown(RequestGrouping.STATUS_CLASS)).toEqual([
      ['2xx', 8n, 0n],
      ['4xx', 2n, 2n],
    ]);
    expect(await shown(RequestGrouping.API_KEY_ID)).toEqual([['key_1', 10n, 2n]]);
    expect((await requestsOf(owner)).total).toMatchObject({ count: 0n });
  });

  test('groups of deliveries are kept per webhook and for all webhooks', async () => {
    const owner = newTenant();
    const [one, other] = [newId('wh'), newId('wh')].sort();
    const group = (webhookId: string | undefined, dimension: DeliveryDimension, name: string, counts: object) => ({
      dimension,
      name,
      counts: deliveryCounts({ ...owner, time: now(), webhookId: webhookId ?? '', ...counts }),
    });
    const { OUTCOME, EVENT_TYPE } = DeliveryDimension;
    await report('groups', 1, {
      deliveries: [one, other].map((webhookId) => deliveryCounts({ ...owner, time: now(), webhookId, created: 4 })),
      deliveryGroups: [
        group(one, OUTCOME, 'success', { attempts: 3, delivered: 3 }),
        group(one, OUTCOME, '429', { attempts: 2 }),
        group(one, OUTCOME, '4xx', { attempts: 1 }),
        group(one, OUTCOME, 'none', { created: 4, canceled: 1 }),
        group(other, OUTCOME, 'timeout', { attempts: 5, failed: 1 }),
        group(other, OUTCOME, '2xx', { attempts: 1 }),
        group(one, EVENT_TYPE, 'resource.created', { created: 4 }),
      ],
    });
    const shown = async (grouping: DeliveryGrouping, webhookId = '') =>
      (await deliveriesOf(owner, { grouping, webhookId })).points.map((point) => [
        point.group,
        ...[point.created, point.attempts, point.delivered, point.failed, point.canceled].map(Number),
      ]);
    expect(await shown(DeliveryGrouping.STATUS_CLASS)).toEqual([
      ['2xx', 0, 4, 3, 0, 0],
      ['4xx', 0, 3, 0, 0, 0],
      ['none', 4, 5, 0, 1, 1],
    ]);
    expect(await shown(DeliveryGrouping.ERROR_CLASS)).toEqual([
      ['2xx', 0, 1, 0, 0, 0],
      ['429', 0, 2, 0, 0, 0],
      ['4xx', 0, 1, 0, 0, 0],
      ['none', 4, 3, 3, 0, 1],
      ['timeout', 0, 5, 0, 1, 0],
    ]);
    expect(await shown(DeliveryGrouping.ERROR_CLASS, other)).toEqual([
      ['2xx', 0, 1, 0, 0, 0],
      ['timeout', 0, 5, 0, 1, 0],
    ]);
    expect(await shown(DeliveryGrouping.EVENT_TYPE)).toEqual([['resource.created', 4, 0, 0, 0, 0]]);
    expect(await shown(DeliveryGrouping.EVENT_TYPE, other)).toEqual([]);
    expect(await shown(DeliveryGrouping.WEBHOOK_ID)).toEqual([one, other].map((id) => [id, 4, 0, 0, 0, 0]));
    expect(await shown(DeliveryGrouping.WEBHOOK_ID, other)).toEqual([[other, 4, 0, 0, 0, 0]]);
  });

  test('has at most 1,500 points', async () => {
    const owner = newTenant();
    const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
    const minutes = (count: number) => range(MetricsGranularity.MINUTE, nowMs - (count - 1) * 60_000);
    const atMs = async (count: number, given: object = {}) =>
      (await requestsOf(owner, { range: minutes(count), ...given })).points.length;
    // The minute may end between two calls.
    expect(1_500 - (await atMs(1_499))).toBeLessThanOrEqual(1);
    await expect(atMs(1_501)).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'granularity' }],
    });
    const requestGroups = Array.from({ length: 1_501 }, (_, i) => ({
      dimension: RequestDimension.API_KEY_ID,
      name: `key_${i}`,
      counts: requestCounts({ ...owner, time: now(), requests: 1 }),
    }));
    const grouping = RequestGrouping.API_KEY_ID;
    await report('many', 1, { requestGroups: requestGroups.slice(0, 1_500) });
    expect(await atMs(60, { grouping })).toBe(1_500);
    await report('many', 2, { requestGroups: requestGroups.slice(1_500) });
    await expect(atMs(60, { grouping })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test.each([
    ['without a granularity', { granularity: MetricsGranularity.UNSPECIFIED }, 'granularity'],
    ['without a start', { from: undefined }, 'from'],
    ['without an end', { to: undefined }, 'to'],
    ['that ends before it starts', { to: timestampFromMs(0) }, 'from'],
  ])('a range %s is refused', async (_, change, field) => {
    const refusal = { code: 'invalid_request', details: [{ field }] };
    const wrong = { range: { ...range(), ...change } };
    await expect(requestsOf(newTenant(), wrong)).rejects.toMatchObject(refusal);
    await expect(deliveriesOf(newTenant(), wrong)).rejects.toMatchObject(refusal);
  });

  test('counts a repeated report once, regardless of which calls succeeded', async () => {
    const owner = newTenant();
    const webhookId = newId('wh');
    const parts = {
      requests: [requestCounts({ ...owner, time: now(), requests: 5, admitted: 5 })],
      deliveries: [deliveryCounts({ ...owner, time: now(), webhookId, attempts: 4, failedAttempts: 4 })],
    };
    await Promise.all([report('r', 1, parts), report('r', 1, parts), report('r', 1, parts)]);
    await report('r', 2, parts);
    await report('r', 1, parts);
    expect((await monthOf(owner))?.used).toBe(10n);
    expect((await deliveriesOf(owner)).total?.attempts).toBe(8n);
    const { rows } = await alerts.database.pool.query(
      'select failures from alerts.webhook_runs where webhook_id = $1',
      [webhookId],
    );
    expect(rows).toEqual([{ failures: '8' }]);
  });

  test('counts a report only once if it is sent again after six days', async () => {
    const owner = newTenant();
    const parts = { requests: [requestCounts({ ...owner, time: now(), requests: 5, admitted: 5 })] };
    await report('slow', 1, parts);
    await alerts.database.pool.query(
      `update alerts.reporters set seen_at = seen_at - interval '6 days' where reporter_id = 'slow'`,
    );
    await forgetReporters(alerts.database.pool);
    await report('slow', 1, parts);
    expect((await monthOf(owner))?.used).toBe(5n);
  });

  test('keeps the months of an environment forever, and those of a webhook for 400 days', async () => {
    const { pool } = alerts.database;
    await pool.query(
      `insert into alerts.delivery_counts
       select 'ws_months', 'live', webhook_id, 'month', now() - make_interval(days => days), 1, 0, 1, 0, '{}'
         from unnest(array['', 'wh_deleted']) as webhook_id cross join unnest(array[399, 401]) as days`,
    );
    await forgetCounts(pool);
    const { rows } = await pool.query(
      `select webhook_id, round(extract(epoch from now() - starts_at) / 86400)::integer as days
         from alerts.delivery_counts where workspace_id = 'ws_months' order by 1, 2`,
    );
    expect(rows).toEqual([
      { webhook_id: '', days: 399 },
      { webhook_id: '', days: 401 },
      { webhook_id: 'wh_deleted', days: 399 },
    ]);
  });

  test('adds counts with a time in the future to the current period', async () => {
    const owner = newTenant();
    const inAYear = timestampFromMs(Date.now() + 365 * 86_400_000);
    await report('ahead', 1, { requests: [requestCounts({ ...owner, time: inAYear, requests: 5, admitted: 5 })] });
    expect((await monthOf(owner))?.used).toBe(5n);
  });

  test('counts deliveries per webhook and in total', async () => {
    const owner = newTenant();
    const [one, other] = [newId('wh'), newId('wh')];
    await report('d', 1, {
      deliveries: [
        deliveryCounts({ ...owner, time: now(), webhookId: one, attempts: 3, delivered: 3 }),
        deliveryCounts({ ...owner, time: now(), webhookId: other, attempts: 2, failedAttempts: 2, failed: 1 }),
      ],
    });
    const sums = async (webhookId: string) => {
      const { points } = await deliveriesOf(owner, { webhookId });
      return (['attempts', 'delivered', 'failed'] as const).map((name) =>
        points.reduce((sum, point) => sum + Number(point[name]), 0),
      );
    };
    expect([await sums(''), await sums(one), await sums(other)]).toEqual([
      [5, 3, 1],
      [3, 3, 0],
      [2, 0, 1],
    ]);
  });

  test('is separate per workspace and environment, and requires both', async () => {
    const owner = newTenant();
    await report('x', 1, { requests: [requestCounts({ ...owner, time: now(), requests: 1, admitted: 1 })] });
    for (const other of [newTenant(), { ...owner, environment: Environment.SANDBOX }]) {
      expect((await requestsOf(other)).total?.count).toBe(0n);
      const month = await monthOf(other);
      expect(month).toMatchObject({ used: 0n });
      expect(month?.quota).toBe(undefined);
    }
    for (const bad of [
      { ...owner, workspaceId: '' },
      { ...owner, environment: Environment.UNSPECIFIED },
    ]) {
      for (const refused of [monthOf(bad), requestsOf(bad), deliveriesOf(bad)])
        await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  test.each([
    ['an empty reporter ID', { reporterId: '' }],
    ['a long reporter ID', { reporterId: 'x'.repeat(65) }],
    ['sequence 0', { sequence: 0n }],
    ['an empty workspace ID', { requests: [requestCounts({ workspaceId: '', environment: Environment.LIVE })] }],
    ['a negative count', { requests: [requestCounts({ ...newTenant(), requests: -1 })] }],
    ['too few latencies', { requests: [{ ...requestCounts(newTenant()), latencies: [1n] }] }],
    ['an empty webhook ID', { deliveries: [deliveryCounts({ ...newTenant(), webhookId: '' })] }],
    [
      'an unnamed group',
      { requestGroups: [{ dimension: RequestDimension.ROUTE, counts: requestCounts(newTenant()) }] },
    ],
    ['a group without a dimension', { requestGroups: [{ name: 'x', counts: requestCounts(newTenant()) }] }],
    ['a group without counts', { deliveryGroups: [{ dimension: DeliveryDimension.OUTCOME, name: 'x' }] }],
  ])('rejects a report with %s', async (_, change) => {
    const refused = alerts.usage.reportUsage({ reporterId: 'bad', sequence: 1n, ...change });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('is kept as long as charts and rules need it', async () => {
    const { workspaceId } = newTenant();
    const days = { minute: [1, 3], hour: [34, 36], day: [399, 401], month: [800] };
    for (const [period, ages] of Object.entries(days)) {
      for (const age of ages) {
        await alerts.database.pool.query(
          `insert into alerts.request_counts
           values ($1, 'live', $2, now() - make_interval(days => $3), 1, 1, 0, 0, 0, 0, '{}', 0)`,
          [workspaceId, period, age],
        );
      }
    }
    await forgetCounts(alerts.database.pool);
    const { rows } = await alerts.database.pool.query(
      `select period, extract(day from now() - starts_at)::int as age from alerts.request_counts
        where workspace_id = $1 order by age`,
      [workspaceId],
    );
    expect(rows).toEqual([
      { period: 'minute', age: 1 },
      { period: 'hour', age: 34 },
      { period: 'day', age: 399 },
      { period: 'month', age: 800 },
    ]);
  });

  test('the failures of a webhook are forgotten after 35 days without an attempt', async () => {
    const { workspaceId } = newTenant();
    const { pool } = alerts.database;
    await pool.query(
      `insert into alerts.webhook_runs (workspace_id, environment, webhook_id, failures, last_attempt_at)
       select $1, 'live', 'wh_' || days, 3, now() - make_interval(days => days) from unnest(array[34, 36]) as days`,
      [workspaceId],
    );
    await forgetRuns(pool);
    const { rows } = await pool.query('select webhook_id from alerts.webhook_runs where workspace_id = $1', [
      workspaceId,
    ]);
    expect(rows).toEqual([{ webhook_id: 'wh_34' }]);
  });

  test('raises quota counters that have fallen behind', async () => {
    const owner = newTenant();
    await report('q', 1, { requests: [requestCounts({ ...owner, time: now(), requests: 30, admitted: 30 })] });
    const check = { ...owner, environment: 'live' as const, keyId: 'key', keyVersion: 1 };
    const limits = {
      rateLimitRequests: 0,
      workspaceRateLimitRequests: 0,
      rateLimitWindowSeconds: 60,
      monthlyQuota: 40,
    };
    expect(await alerts.limiter.check({ ...check, limits })).toMatchObject({ quota: { remaining: 39 } });
    alerts.loseMarkers();
    const { quota } = await waitUntil(
      async () => {
        const decision = await alerts.limiter.check({ ...check, limits });
        return decision.quota && decision.quota.remaining < 20 ? decision : undefined;
      },
      { what: 'the raised counter' },
    );
    expect(quota?.remaining).toBe(9);
  });
});
