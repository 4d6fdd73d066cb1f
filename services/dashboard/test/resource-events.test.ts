import { newId } from '@rms/base/ids';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { disposable } from '@rms/testkit';
import { ownWorkspace, startDashboard } from './support.ts';

test('the events of a resource include no events about other objects, which viewers may not read', async () => {
  await using dashboard = disposable(await startDashboard({}, { listEventsOfResource: () => ({ events: [] }) }));
  dashboard.account.workspaces = { [ownWorkspace]: Role.VIEWER };
  const browser = await dashboard.signIn();
  const statusOf = async (id: string) =>
    (await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/resources/${id}/events`)).status;
  expect(await Promise.all([newId('res'), newId('wh'), newId('key'), ownWorkspace].map(statusOf))).toEqual([
    200, 404, 404, 404,
  ]);
});

test('users get operational events of the feed only with the permission', async () => {
  await using dashboard = disposable(await startDashboard({}, { listEvents: () => ({ events: [] }) }));
  const browser = await dashboard.signIn();
  for (const role of [Role.VIEWER, Role.DEVELOPER, Role.ADMIN, Role.OWNER]) {
    dashboard.account.workspaces = { [ownWorkspace]: role };
    await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/events`);
  }
  const asked = dashboard.recorded.filter(({ method }) => method === 'listEvents');
  expect(asked.map(({ request }) => (request as { withOperational: boolean }).withOperational)).toEqual([
    false,
    false,
    true,
    true,
  ]);
});
