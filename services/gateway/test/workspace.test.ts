import { startGateway } from './support/start-gateway.ts';

describe('GET /v1/workspace', () => {
  test('returns the limits of the plan; null stands for no limit', async () => {
    const api = await startGateway({ env: { MONTHLY_QUOTA: '0' } });
    const limits = { rateLimitRequests: 70n, rateLimitWindowSeconds: 10n, maxWebhooks: 7n };
    const { value } = api.auth.newKey('admin', { limits });
    const { body } = await api.send('GET', '/v1/workspace', { key: value });
    expect(body.data.objects.webhooks).toEqual({ count: 0, limit: 7 });
    expect(body.data.limits).toEqual({
      requests_per_window: 70,
      workspace_requests_per_window: 60_000,
      window_seconds: 10,
      requests_per_month: null,
    });
    await api.stop();
  });

  test('without webhooks, their number is null and everything else is returned', async () => {
    const api = await startGateway();
    const { value, workspaceId } = api.auth.newKey('admin');
    await api.servers.webhooks.stop(0);
    const { status, body } = await api.send('GET', '/v1/workspace', { key: value });
    expect([status, body.data.id, body.data.objects.webhooks]).toEqual([200, workspaceId, null]);
    await api.stop();
  });

  test('without alerts, the usage is null and everything else is returned', async () => {
    const api = await startGateway();
    const { value, workspaceId } = api.auth.newKey('admin');
    await api.servers.alerts.stop(0);
    const { status, body } = await api.send('GET', '/v1/workspace', { key: value });
    expect([status, body.data.id, body.data.usage]).toEqual([200, workspaceId, null]);
    await api.stop();
  });

  test('its ETag does not change with the time', async () => {
    const api = await startGateway();
    const { value: key } = api.auth.newKey('admin');
    const { etag = '' } = (await api.send('GET', '/v1/workspace', { key })).headers;
    expect((await api.send('GET', '/v1/workspace', { key, headers: { 'If-None-Match': etag } })).status).toBe(304);
    await api.stop();
  });
});
