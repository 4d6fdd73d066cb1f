import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { freePort, waitUntil } from '@rms/testkit';
import { buildConnector } from 'undici';
import { OriginPools } from '../src/egress/origin-pools.ts';

describe('Pools of connections, by origin', () => {
  let pools: OriginPools;
  let port: number;
  let server: Server;
  const listen = () => once(server.listen(port, '127.0.0.1'), 'listening');
  const ask = async () => {
    const { body } = await pools.request({ origin: `http://127.0.0.1:${port}`, path: '/', method: 'POST', body: 'x' });
    return body.text();
  };
  beforeEach(async () => {
    pools = new OriginPools({ connections: null, connect: buildConnector({}) });
    port = await freePort();
    server = createServer();
  });
  afterEach(async () => {
    await pools.destroy();
    server.close();
    server.closeAllConnections();
  });

  test('one of an origin that refuses connections stays, and connects as soon as it listens', async () => {
    for (let i = 0; i < 3; i += 1) {
      await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      expect(pools.size).toBe(1);
    }
    server.on('request', (_, response: ServerResponse) => response.end('here'));
    await listen();
    expect(await ask()).toBe('here');
    expect(pools.size).toBe(1);
  });

  test('one goes with its last connection, and the next request makes another', async () => {
    server.on('request', (_, response: ServerResponse) => response.end('here'));
    await listen();
    await Promise.all([ask(), ask(), ask()]);
    expect(pools.size).toBe(1);
    server.closeAllConnections();
    await waitUntil(() => pools.size === 0, { what: 'the pool to be let go' });
    expect(await ask()).toBe('here');
    expect(pools.size).toBe(1);
  });

  test('requests under way end before they close', async () => {
    await listen();
    const asked = ask();
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    const closed = pools.close();
    response.end('late');
    expect(await asked).toBe('late');
    await closed;
  });
});
