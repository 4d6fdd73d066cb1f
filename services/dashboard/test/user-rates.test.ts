import { disposable } from '@rms/testkit';
import { UserRates } from '../src/checks/admission.ts';
import { startDashboard } from './support.ts';

const ofUser = 1_200;
const ofTenant = 6_000;

test('a user who makes too many calls gets 429, before any other service is called; other users are served', async () => {
  await using dashboard = disposable(await startDashboard({}));
  const browser = await dashboard.signIn();
  dashboard.account.userId = 'usr_2';
  const other = await dashboard.signIn();
  dashboard.account.userId = 'usr_1';
  const read = () => browser.send('GET', '/api/account/sessions');
  let response = await read();
  let recorded = 0;
  for (let calls = 1; response.status === 200 && calls <= 2 * ofUser; calls += 1) {
    recorded = dashboard.recorded.length;
    response = await read();
  }
  expect(response.status).toBe(429);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject({
    error: {
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(/^You have made too many requests \(limit: 1200 per minute\)\. .*\d+ s/),
    },
  });
  expect(dashboard.recorded).toHaveLength(recorded);
  dashboard.account.userId = 'usr_2';
  expect((await other.send('GET', '/api/account/sessions')).status).toBe(200);
});

test('the members of a workspace share a limit per environment', async () => {
  const rates = new UserRates();
  const tenant = { workspaceId: 'ws_1', environment: 'live' } as const;
  const takeAll = async () => {
    for (let calls = 1; calls <= 2 * ofTenant; calls += 1) await rates.takeTenant(tenant);
  };
  await expect(takeAll()).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  await rates.takeTenant({ ...tenant, environment: 'sandbox' });
  await rates.takeTenant({ ...tenant, workspaceId: 'ws_2' });
});
