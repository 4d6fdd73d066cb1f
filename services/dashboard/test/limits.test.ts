import { disposable } from '@rms/testkit';
import { ownWorkspace, startDashboard } from './support.ts';

test('a new webhook is subject to the webhook limit of the plan', async () => {
  await using dashboard = disposable(await startDashboard({}));
  const browser = await dashboard.signIn();
  await browser.send('POST', `/api/workspaces/${ownWorkspace}/live/webhooks`, {
    body: { url: 'https://example.com', events: ['*'] },
  });
  const { request } = dashboard.recorded.find(({ method }) => method === 'createWebhook') ?? {};
  expect(request).toMatchObject({ workspaceId: ownWorkspace, maxWebhooks: 4n });
});

test('a workspace has the limits of its plan, or of the installation where the plan sets none', async () => {
  await using dashboard = disposable(await startDashboard({ RATE_LIMIT_REQUESTS: '7', MONTHLY_QUOTA: '0' }));
  const browser = await dashboard.signIn();
  const response = await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/limits`);
  expect(await response.json()).toEqual({
    plan: 'gold',
    limits: {
      requests_per_window: 7,
      workspace_requests_per_window: 60_000,
      window_seconds: 60,
      requests_per_month: 5,
    },
    max_keys: 1_000,
    max_webhooks: 4,
    max_members: 1_000,
    max_invitations: 100,
    webhook_urls: { http: false, private_networks: false },
    webhook_disable_after_hours: 120,
    delivery_log_days: 30,
    request_log: 'all',
    request_log_days: 7,
    trace_url: null,
  });
});
