import { type ConnectProxy, startConnectProxy } from '@rms/testkit';
import { startWorkspaces } from './workspaces-server.ts';

describe('calls between services', () => {
  const names = ['grpc_proxy', 'https_proxy', 'http_proxy', 'GRPC_PROXY', 'HTTPS_PROXY', 'HTTP_PROXY'];
  const before = { ...process.env };
  let proxy: ConnectProxy;
  beforeAll(async () => {
    proxy = await startConnectProxy(() => 9);
    for (const name of ['no_proxy', 'NO_PROXY', 'no_grpc_proxy']) delete process.env[name];
  });
  afterEach(() => {
    for (const name of names) delete process.env[name];
  });
  afterAll(async () => {
    Object.assign(process.env, before);
    await proxy.close();
  });

  test.each(names)('do not use the proxy of %s', async (name) => {
    process.env[name] = proxy.url;
    const { client, stop } = await startWorkspaces();
    expect((await client.createWorkspace({ name: 'direct' })).workspace).toMatchObject({ id: 'ws_1' });
    await stop();
    expect(proxy.requests).toEqual([]);
  });
});
