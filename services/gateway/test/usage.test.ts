import { RequestDimension } from '@rms/proto/rms/alerts/v1/usage_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { startGateway, type TestGateway } from './support/start-gateway.ts';

type Total = Record<
  'requests' | 'admitted' | 'clientErrors' | 'serverErrors' | 'rateLimited' | 'quotaRefused' | 'timed',
  number
>;

/** Returns the sums over a workspace's reported counts. */
function totalOf({ usage }: TestGateway, workspaceId: string): Total {
  const total: Total = {
    requests: 0,
    admitted: 0,
    clientErrors: 0,
    serverErrors: 0,
    rateLimited: 0,
    quotaRefused: 0,
    timed: 0,
  };
  const counts = usage.reports.flatMap(({ requests }) => requests).filter((one) => one.workspaceId === workspaceId);
  for (const one of counts) {
    for (const name of Object.keys(total) as (keyof Total)[]) {
      total[name] +=
        name === 'timed' ? one.latencies.reduce((sum, count) => sum + Number(count), 0) : Number(one[name]);
    }
  }
  return total;
}

describe('Request usage', () => {
  test('is summed per workspace, and reported completely by the time the gateway stops', async () => {
    const api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '4', MONTHLY_QUOTA: '50' } });
    const key = api.auth.newKey('read');
    const other = api.auth.newKey('read');
    const get = (path: string, value = key.value) => api.send('GET', path, { key: value });
    expect((await get('/v1/resources')).status).toBe(200);
    expect((await get('/v1/resources/res_none')).status).toBe(404);
    // Rejected by the scope check, which runs before the limit check.
    expect((await api.send('GET', '/v1/webhooks', { key: key.value })).status).toBe(403);
    for (const status of [200, 200, 429]) expect((await get('/v1/resources')).status).toBe(status);
    expect((await get('/v1/resources', other.value)).status).toBe(200);
    expect((await get('/v1/resources', 'sk_live_wrong')).status).toBe(401);
    expect((await api.send('GET', '/livez')).status).toBe(200);
    await api.stop();
    expect(totalOf(api, key.workspaceId)).toEqual({
      requests: 6,
      admitted: 4,
      clientErrors: 3,
      serverErrors: 0,
      rateLimited: 1,
      quotaRefused: 0,
      timed: 6,
    });
    expect(totalOf(api, other.workspaceId)).toMatchObject({ requests: 1, admitted: 1 });
    const all = api.usage.reports.flatMap(({ requests }) => requests);
    expect(new Set(all.map(({ workspaceId }) => workspaceId))).toEqual(new Set([key.workspaceId, other.workspaceId]));
    expect(all.every(({ environment, monthlyQuota }) => environment === Environment.LIVE && monthlyQuota === 50n)).toBe(
      true,
    );
    const reporters = Map.groupBy(api.usage.reports, ({ reporterId }) => reporterId);
    for (const reports of reporters.values())
      expect(reports.map(({ sequence }) => sequence)).toEqual(reports.map((_, i) => BigInt(i + 1)));
  });

  test('is counted by route, class of the status and key', async () => {
    const api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '5' } });
    const [key, other] = [api.auth.newKey('read'), api.auth.newKey('read')];
    const get = (path: string, value = key.value) => api.send('GET', path, { key: value });
    for (const path of ['/v1/resources', '/v1/resources/res_none', '/v1/none', '/v1/webhooks']) await get(path);
    for (const status of [200, 200, 429]) expect((await get('/v1/resources')).status).toBe(status);
    expect((await get('/v1/resources', other.value)).status).toBe(200);
    await api.stop();
    const groups = api.usage.reports
      .flatMap(({ requestGroups }) => requestGroups)
      .filter(({ counts }) => counts?.workspaceId === key.workspaceId);
    const sumsOf = (of: RequestDimension) => {
      const sums: Record<string, number[]> = {};
      for (const { dimension, name, counts } of groups) {
        if (dimension !== of || !counts) continue;
        const timed = counts.latencies.reduce((sum, count) => sum + count, 0n);
        const added = [counts.requests, counts.clientErrors, counts.rateLimited, timed].map(Number);
        sums[name] = added.map((count, i) => count + (sums[name]?.[i] ?? 0));
      }
      return sums;
    };
    // Requests, 4xx, rejected by the rate limit, durations.
    expect(sumsOf(RequestDimension.ROUTE)).toEqual({
      'GET /v1/resources': [4, 1, 1, 4],
      'GET /v1/resources/{id}': [1, 1, 0, 1],
      'GET /v1/webhooks': [1, 1, 0, 1],
      none: [1, 1, 0, 1],
    });
    expect(sumsOf(RequestDimension.STATUS_CLASS)).toEqual({ '2xx': [3, 0, 0, 3], '4xx': [4, 4, 1, 4] });
    expect(Object.values(sumsOf(RequestDimension.API_KEY_ID))).toEqual([[7, 4, 1, 7]]);
    expect(api.usage.reports.every(({ requests, requestGroups }) => requests.length * requestGroups.length === 0)).toBe(
      true,
    );
  });

  test('distinguishes server errors from quota rejections', async () => {
    const api = await startGateway({ env: { MONTHLY_QUOTA: '2' } });
    const key = api.auth.newKey('read');
    await api.send('GET', '/v1/resources', { key: key.value });
    await api.servers.resources.stop(0);
    const failed = await api.send('GET', '/v1/resources', { key: key.value });
    expect(failed.status).toBe(503);
    expect((await api.send('GET', '/v1/resources', { key: key.value })).status).toBe(429);
    await api.stop();
    expect(totalOf(api, key.workspaceId)).toMatchObject({
      requests: 3,
      admitted: 2,
      clientErrors: 1,
      serverErrors: 1,
      quotaRefused: 1,
    });
  });

  test('does not affect requests while the alerts service is unavailable', async () => {
    const api = await startGateway();
    await api.servers.alerts.stop(0);
    const key = api.auth.newKey('read');
    expect((await api.send('GET', '/v1/resources', { key: key.value })).status).toBe(200);
    expect((await api.send('GET', '/readyz')).status).toBe(200);
    await api.stop();
    expect(api.lines.filter(({ msg }) => String(msg).startsWith('usage reporting failed'))).toHaveLength(2);
  });

  test('is not counted without an alerts service, and nothing is logged', async () => {
    const api = await startGateway({ env: { ALERTS_ADDRESS: 'none' } });
    const key = api.auth.newKey('read');
    expect((await api.send('GET', '/v1/resources', { key: key.value })).status).toBe(200);
    await api.stop();
    expect(api.usage.reports).toEqual([]);
    expect(api.lines.filter(({ level }) => level !== 'info' && level !== 30)).toEqual([]);
  });
});
