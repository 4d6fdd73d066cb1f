import { maxRollOverlapSeconds } from '@rms/base/api-key';
import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { timestampFromMs } from '@rms/rpc';
import { perSuite } from '@rms/testkit';
import { ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

const tenant = { workspaceId: ownWorkspace, environment: Environment.LIVE };
const key = { ...tenant, id: newId('key'), permissions: [], allowedIps: [], uses: [], createTime: timestampFromMs(0) };

describe('keys', () => {
  let send: Awaited<ReturnType<TestDashboard['signIn']>>['send'];
  const dashboard = perSuite(() =>
    startDashboard(
      {},
      { listKeys: () => ({ keys: [key], nextPageToken: key.id }), rollKey: () => ({ key, keyValue: 'sk_live_x' }) },
    ),
  );
  beforeAll(async () => {
    send = (await dashboard.signIn()).send;
  });

  const path = `/api/workspaces/${ownWorkspace}/live/api_keys`;

  test('are revoked only in the environment of the page', async () => {
    const count = dashboard.recorded.length;
    expect((await send('DELETE', `${path}/${key.id}`)).status).toBe(204);
    const calls = dashboard.recorded.slice(count).filter(({ service }) => service === 'keys');
    expect(calls).toMatchObject([{ method: 'revokeKey', request: { ...tenant, id: key.id } }]);
  });

  test('are rolled with the longest overlap that auth accepts; a longer one is refused', async () => {
    const roll = async (overlap: number) => {
      const count = dashboard.recorded.length;
      const { status } = await send('POST', `${path}/${key.id}/roll`, { body: { overlap } });
      return [status, dashboard.recorded.slice(count).some(({ method }) => method === 'rollKey')];
    };
    expect(await roll(maxRollOverlapSeconds)).toEqual([201, true]);
    expect(await roll(maxRollOverlapSeconds + 1)).toEqual([400, false]);
  });

  test('are filtered by what only pages ask for: valid keys, and those with their own limit', async () => {
    const page = async (query: string) => {
      const response = await send('GET', path + query);
      return { body: await response.json(), request: dashboard.recorded.at(-1)?.request };
    };
    expect(await page('?per_page=100&valid=true')).toMatchObject({
      body: { data: [{ id: key.id }], links: { next: expect.stringContaining(`valid=true&cursor=${key.id}`) } },
      request: { ...tenant, pageSize: 100, pageToken: '', validOnly: true, ownLimitOnly: false },
    });
    expect((await page(`?cursor=${key.id}`)).request).toMatchObject({ pageToken: key.id, validOnly: false });
    expect((await page('?own_limit=true')).request).toMatchObject({ validOnly: false, ownLimitOnly: true });
  });
});
