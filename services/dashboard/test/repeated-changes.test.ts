import { newId } from '@rms/base/ids';
import { ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

describe('the idempotency key of a change', () => {
  let dashboard: TestDashboard;
  let send: Awaited<ReturnType<TestDashboard['signIn']>>['send'];
  const path = `/api/workspaces/${ownWorkspace}/live`;
  const key = { name: 'ci', scope: 'read' };
  beforeAll(async () => {
    dashboard = await startDashboard();
    send = (await dashboard.signIn()).send;
  });
  beforeEach(() => {
    dashboard.account.userId = 'usr_1';
  });
  afterAll(() => dashboard.stop());

  /** Returns the idempotency keys of the RPC calls that a request causes. */
  const keysOf = async (path: string, given: string | undefined, body: object) => {
    const count = dashboard.recorded.length;
    await send('POST', path, { body, headers: given === undefined ? {} : { 'Idempotency-Key': given } });
    return dashboard.recorded
      .slice(count)
      .flatMap(({ request }) => (request as { idempotencyKey?: string }).idempotencyKey ?? []);
  };

  test('is the same for a repetition, and another one for other content, another user or another key', async () => {
    const [first = ''] = await keysOf(`${path}/api_keys`, 'a', key);
    expect(first).toMatch(/^dashboard-[\w-]{43}$/);
    expect(await keysOf(`${path}/api_keys`, 'a', key)).toEqual([first]);
    const others = [
      await keysOf(`${path}/api_keys`, 'a', { ...key, name: 'other' }),
      await keysOf(`${path}/api_keys`, 'b', key),
      await keysOf(`${path}/api_keys/${newId('key')}/roll`, 'a', { overlap: 0 }),
    ].flat();
    dashboard.account.userId = 'usr_2';
    others.push(...(await keysOf(`${path}/api_keys`, 'a', key)));
    expect(new Set([first, ...others]).size).toBe(5);
  });

  test('is empty if the page sent none', async () => {
    expect(await keysOf(`${path}/api_keys`, undefined, key)).toEqual(['']);
    expect(await keysOf(`${path}/deliveries/redeliver`, undefined, { ids: ['dlv_1', 'dlv_2'] })).toEqual(['', '']);
  });

  test.each([
    ['/webhooks', { url: 'https://example.com', events: ['*'] }],
    [`/webhooks/${newId('wh')}/rotate_secret`, { overlap: 0 }],
    [`/webhooks/${newId('wh')}/pause`, {}],
    [`/webhooks/${newId('wh')}/resume`, {}],
    [`/webhooks/${newId('wh')}/test`, { event_type: 'resource.created' }],
    [`/deliveries/${newId('dlv')}/redeliver`, {}],
    ['/replays', { webhook_id: 'wh_1', created_after: '2026-01-01T00:00:00Z', dry_run: false, statuses: ['failed'] }],
  ])('is sent with POST %s', async (suffix, body) => {
    expect(await keysOf(path + suffix, 'a', body)).toEqual([expect.stringMatching(/^dashboard-/)]);
  });

  test('differs for each delivery that is redelivered', async () => {
    const [first = '', second] = await keysOf(`${path}/deliveries/redeliver`, 'a', { ids: ['dlv_1', 'dlv_2'] });
    expect(first).toMatch(/^dashboard-.*-dlv_1$/);
    expect(second).toBe(first.replace('dlv_1', 'dlv_2'));
  });

  test('is sent with the creation of a resource', async () => {
    const count = dashboard.recorded.length;
    const headers = { 'Idempotency-Key': 'a' };
    await send('POST', `${path}/resources`, { body: { name: 'r' }, headers });
    const { request } = dashboard.recorded.slice(count).find(({ method }) => method === 'batchCreateResources') ?? {};
    expect(request).toMatchObject({ requests: [{ idempotencyKey: expect.stringMatching(/^dashboard-/) }] });
  });
});
