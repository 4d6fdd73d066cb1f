import { perSuite } from '@rms/testkit';
import { type Browser, ownWorkspace, startDashboard } from './support.ts';

const path = `/api/workspaces/${ownWorkspace}/live/invitations`;
const time = { seconds: 1n, nanos: 0 };
const invitation = { id: 'inv_1', email: 'a@example.com', createTime: time, expireTime: time };
const token = 'the-token-of-the-link';
let hasSmtp: boolean;
let browser: Browser;
const dashboard = perSuite(() =>
  startDashboard(
    {},
    {
      getEmailStatus: () => ({ hasSmtp }),
      createInvitation: ({ returnToken }: { returnToken: boolean }) => ({
        invitation,
        token: returnToken ? token : '',
      }),
      listInvitations: () => ({ invitations: [invitation] }),
    },
  ),
);
beforeAll(async () => {
  browser = await dashboard.signIn();
});

const invite = async () => {
  const response = await browser.send('POST', path, { body: { email: 'a@example.com', role: 'viewer' } });
  expect([response.status, response.headers.get('Cache-Control')]).toEqual([201, 'no-store']);
  return response.json();
};

test('without an SMTP server, the inviter gets the token of the link once, and no log line contains it', async () => {
  hasSmtp = false;
  expect(await invite()).toMatchObject({ data: { id: 'inv_1', token } });
  expect(await (await browser.send('GET', path)).text()).not.toContain(token);
  expect(dashboard.lines.join('')).not.toContain(token);
});

test('with an SMTP server, the inviter gets no token', async () => {
  hasSmtp = true;
  expect(await invite()).toEqual({ data: expect.not.objectContaining({ token: expect.anything() }) });
  expect(dashboard.recorded.findLast(({ method }) => method === 'createInvitation')?.request).toMatchObject({
    returnToken: false,
  });
});
