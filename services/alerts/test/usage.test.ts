import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { addLatency, noLatencies } from '@rms/reporting/usage';
import { perSuite, waitUntil } from '@rms/testkit';
import { forgetCounts, forgetReporters, forgetRuns } from '../src/usage/old-usage-queries.ts';
import { pointsOf, rowsOf, runsOf, startOf } from '../src/usage/usage.ts';
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

  test('of a chart are consecutive and end with the current period', () => {
    const hour = pointsOf('hour', atMs);
    expect([hour.length, hour[0], hour.at(-1)]).toEqual([
      60,
      Date.UTC(2024, 1, 29, 23, 0),
      Date.UTC(2024, 1, 29, 23, 59),
    ]);
    expect([pointsOf('day', atMs).length, pointsOf('month', atMs).length]).toEqual([24, 31]);
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
    const base = { workspaceId: 'ws_a', environment: 'live' as const, webhookId: 'wh_1', delivered: 0, failed: 0 };
    const counts = { ...base, canceled: 0, url: '', lastError: '', latencies: noLatencies() };
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
  const usageOf = (of: object, span = UsageSpan.HOUR) => alerts.usage.getUsage({ ...of, span });
  const now = () => timestampFromMs(Date.now());

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
    for (const [span, points] of [
      [UsageSpan.HOUR, 60],
      [UsageSpan.DAY, 24],
      [UsageSpan.MONTH, 31],
    ] as const) {
      const usage = await usageOf(owner, span);
      expect(usage.points).toHaveLength(points);
      const sum = (name: 'requests' | 'admitted' | 'clientErrors' | 'serverErrors' | 'rateLimited') =>
        usage.points.reduce((total, point) => total + Number(point[name]), 0);
      expect([sum('requests'), sum('admitted'), sum('clientErrors'), sum('serverErrors'), sum('rateLimited')]).toEqual([
        110, 108, 7, 3, 2,
      ]);
      const starts = usage.points.map(({ startTime }) => (startTime ? timestampMs(startTime) : 0));
      expect(starts).toEqual([...starts].sort((a, b) => a - b));
    }
    const { points, month } = await usageOf(owner);
    const busy = points.find(({ requests }) => requests > 0n);
    expect(busy?.p50Ms).toBeGreaterThanOrEqual(3);
    expect(busy?.p50Ms).toBeLessThanOrEqual(5);
    expect(busy?.p95Ms).toBeGreaterThanOrEqual(250);
    expect(month).toMatchObject({ used: 108n, quota: 1_000n });
  });

  test('has the same total for every span that covers the same requests', async () => {
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
    const [hour, day, month] = await Promise.all(
      [UsageSpan.HOUR, UsageSpan.DAY, UsageSpan.MONTH].map(async (span) => (await usageOf(owner, span)).total),
    );
    expect(hour).toMatchObject({ requests: 100n, attempts: 4n, failedAttempts: 2n, delivered: 2n });
    expect(hour?.p95Ms).toBeLessThanOrEqual(5);
    for (const other of [day, month]) expect({ ...other, startTime: hour?.startTime }).toEqual(hour);
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
    const { month, points } = await usageOf(owner);
    expect(month?.used).toBe(10n);
    expect(points.reduce((sum, { attempts }) => sum + Number(attempts), 0)).toBe(8);
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
    expect((await usageOf(owner)).month?.used).toBe(5n);
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
    expect((await usageOf(owner)).month?.used).toBe(5n);
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
      const { points } = await alerts.usage.getUsage({ ...owner, span: UsageSpan.DAY, webhookId });
      return (['attempts', 'failedAttempts', 'delivered', 'failed'] as const).map((name) =>
        points.reduce((sum, point) => sum + Number(point[name]), 0),
      );
    };
    expect([await sums(''), await sums(one), await sums(other)]).toEqual([
      [5, 2, 3, 1],
      [3, 0, 3, 0],
      [2, 2, 0, 1],
    ]);
  });

  test('is separate per workspace and environment, and requires both', async () => {
    const owner = newTenant();
    await report('x', 1, { requests: [requestCounts({ ...owner, time: now(), requests: 1, admitted: 1 })] });
    for (const other of [newTenant(), { ...owner, environment: Environment.SANDBOX }]) {
      const { points, month } = await usageOf(other);
      expect(points.every(({ requests }) => requests === 0n)).toBe(true);
      expect(month).toMatchObject({ used: 0n });
      expect(month?.quota).toBe(undefined);
    }
    for (const bad of [
      { ...owner, workspaceId: '' },
      { ...owner, environment: Environment.UNSPECIFIED },
    ]) {
      await expect(usageOf(bad)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await expect(usageOf(owner, UsageSpan.UNSPECIFIED)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test.each([
    ['an empty reporter ID', { reporterId: '' }],
    ['a long reporter ID', { reporterId: 'x'.repeat(65) }],
    ['sequence 0', { sequence: 0n }],
    ['an empty workspace ID', { requests: [requestCounts({ workspaceId: '', environment: Environment.LIVE })] }],
    ['a negative count', { requests: [requestCounts({ ...newTenant(), requests: -1 })] }],
    ['too few latencies', { requests: [{ ...requestCounts(newTenant()), latencies: [1n] }] }],
    ['an empty webhook ID', { deliveries: [deliveryCounts({ ...newTenant(), webhookId: '' })] }],
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
