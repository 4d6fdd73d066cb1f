import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { freePort, waitUntil } from '@rms/testkit';
import { buildConnector } from 'undici';
import { Exchange } from '../src/delivery/attempt/exchange.ts';
import { OriginPools } from '../src/egress/origin-pools.ts';

describe('Connection pools by origin', () => {
  let pools: OriginPools;
  let port: number;
  let server: Server;
  const listen = () => once(server.listen(port, '127.0.0.1'), 'listening');
  const ask = async () => {
    const exchange = new Exchange();
    pools.dispatch({ origin: `http://127.0.0.1:${port}`, path: '/', method: 'POST', body: 'x' }, exchange);
    await exchange.ended;
    if (exchange.error) throw exchange.error;
    return exchange.body.toString();
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

  test('the pool of an origin that refuses connections is kept and connects once the origin listens', async () => {
    for (let i = 0; i < 3; i += 1) {
      await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      expect(pools.size).toBe(1);
    }
    server.on('request', (_, response: ServerResponse) => response.end('here'));
    await listen();
    expect(await ask()).toBe('here');
    expect(pools.size).toBe(1);
  });

  test('a pool is removed with its last connection, and the next request creates another', async () => {
    server.on('request', (_, response: ServerResponse) => response.end('here'));
    await listen();
    await Promise.all([ask(), ask(), ask()]);
    expect(pools.size).toBe(1);
    server.closeAllConnections();
    await waitUntil(() => pools.size === 0, { what: 'the pool to be removed' });
    expect(await ask()).toBe('here');
    expect(pools.size).toBe(1);
  });

  test('running requests end before a pool closes', async () => {
    await listen();
    const requested = ask();
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    const closed = pools.close();
    response.end('late');
    expect(await requested).toBe('late');
    await closed;
  });
});
