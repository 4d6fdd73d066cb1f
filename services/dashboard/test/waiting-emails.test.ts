import { TestEmailState } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import { type Browser, codeOf, ownWorkspace, startDashboard } from './support.ts';

const base = `/api/workspaces/${ownWorkspace}/live`;
const reply = 'MAIL FROM refused: 530 5.7.0 Must issue a STARTTLS command first';
const address = 'owner@example.com';
let browser: Browser;
const dashboard = perSuite(() =>
  startDashboard(
    {},
    {
      getEmailStatus: () => ({ hasSmtp: true, waiting: 3, lastError: reply }),
      testRule: () => ({ addresses: [address], emails: [{ address, state: TestEmailState.QUEUED, reply }] }),
    },
  ),
);
beforeAll(async () => {
  browser = await dashboard.signIn();
});

test('administrators see how many emails of their workspace wait, and why', async () => {
  const response = await browser.send('GET', `${base}/email-status`);
  expect(await response.json()).toEqual({ waiting: 3, last_error: reply });
  const { request } = dashboard.recorded.findLast(({ method }) => method === 'getEmailStatus') ?? {};
  expect(request).toEqual({ workspaceId: ownWorkspace });
});

test('other members do not', async () => {
  dashboard.account.workspaces[ownWorkspace] = Role.DEVELOPER;
  const response = await browser.send('GET', `${base}/email-status`);
  expect([response.status, await codeOf(response)]).toEqual([403, 'insufficient_role']);
  dashboard.account.workspaces[ownWorkspace] = Role.OWNER;
});

test('a test email shows the reply of the mail server', async () => {
  const response = await browser.send('POST', `${base}/alert_rules/quota/test`);
  expect(await response.json()).toEqual({
    data: { addresses: [address], emails: [{ address, state: 'queued', reply }] },
  });
});
