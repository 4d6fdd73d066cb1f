import { ownWorkspace, startDashboard } from './support.ts';

test("a workspace's limits are those of its plan, and the installation's where that says nothing", async () => {
  const dashboard = await startDashboard({ RATE_LIMIT_REQUESTS: '7', MONTHLY_QUOTA: '0' });
  try {
    const browser = await dashboard.signIn();
    const answer = await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/limits`);
    expect(await answer.json()).toEqual({
      plan: 'gold',
      rate_limit_requests: 7,
      rate_limit_window_seconds: 60,
      monthly_quota: 5,
    });
  } finally {
    await dashboard.stop();
  }
});
