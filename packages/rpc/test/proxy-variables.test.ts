import { perSuite, startConnectProxy } from '@rms/testkit';
import { startWorkspaces } from './workspaces-server.ts';

describe('calls between services', () => {
  const names = ['grpc_proxy', 'https_proxy', 'http_proxy', 'GRPC_PROXY', 'HTTPS_PROXY', 'HTTP_PROXY'];
  const before = { ...process.env };
  afterAll(() => void Object.assign(process.env, before));
  const proxy = perSuite(() => startConnectProxy(() => 9));
  beforeAll(() => {
    for (const name of ['no_proxy', 'NO_PROXY', 'no_grpc_proxy']) delete process.env[name];
  });
  afterEach(() => {
    for (const name of names) delete process.env[name];
  });

  test.each(names)('do not use the proxy of %s', async (name) => {
    process.env[name] = proxy.url;
    const { client, stop } = await startWorkspaces();
    expect((await client.createWorkspace({ name: 'direct' })).workspace).toMatchObject({ id: 'ws_1' });
    await stop();
    expect(proxy.requests).toEqual([]);
  });
});
