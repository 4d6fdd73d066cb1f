import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

describe('keys', () => {
  let dashboard: TestDashboard;
  let send: Awaited<ReturnType<TestDashboard['signIn']>>['send'];
  beforeAll(async () => {
    dashboard = await startDashboard(
      {},
      {
        listKeys: () => ({ keys: [{ id: 'key_own', allowedIps: [], uses: [] }], nextPageToken: 'key_own' }),
        revokeKey: ({ id }: { id: string }) => ({ key: { id, allowedIps: [], uses: [] } }),
      },
    );
    send = (await dashboard.signIn()).send;
  });
  afterAll(() => dashboard.stop());

  const path = `/api/workspaces/${ownWorkspace}/live/keys`;
  const tenant = { workspaceId: ownWorkspace, environment: Environment.LIVE };

  test('are revoked after a lookup by ID, regardless of the number of keys', async () => {
    const count = dashboard.recorded.length;
    expect((await send('POST', `${path}/key_own/revoke`)).status).toBe(200);
    const calls = dashboard.recorded.slice(count).filter(({ service }) => service === 'keys');
    expect(calls.map(({ method }) => method)).toEqual(['getKey', 'revokeKey']);
    expect(calls[0]?.request).toEqual({ ...tenant, id: 'key_own' });
    expect((await send('POST', `${path}/key_other/revoke`)).status).toBe(404);
  });

  test('are listed in pages of 100, valid ones only by default', async () => {
    const page = async (query: string) => {
      const response = await send('GET', path + query);
      return { body: await response.json(), request: dashboard.recorded.at(-1)?.request };
    };
    expect(await page('')).toMatchObject({
      body: { data: [{ id: 'key_own' }], next: 'key_own' },
      request: { ...tenant, pageSize: 100, pageToken: '', validOnly: true, ownLimitOnly: false },
    });
    expect((await page('?show=all&cursor=key_own')).request).toMatchObject({ pageToken: 'key_own', validOnly: false });
    expect((await page('?with=own_limit')).request).toMatchObject({ validOnly: true, ownLimitOnly: true });
  });
});
