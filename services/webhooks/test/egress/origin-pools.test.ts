import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Exchange, OpenConnections, OriginPools } from '@rms/net/guarded-http';
import { freePort, waitUntil } from '@rms/testkit';
import { buildConnector } from 'undici';

/** Connects to the server whatever the origin's host is. */
const connector = buildConnector({});
const toServer: buildConnector.connector = (target, callback) =>
  connector({ ...target, hostname: '127.0.0.1', host: `127.0.0.1:${target.port}` }, callback);

describe('Connection pools by origin', () => {
  let pools: OriginPools;
  let port: number;
  let server: Server;
  const listen = () => once(server.listen(port, '127.0.0.1'), 'listening');
  const ask = async (workspaceId = 'ws_1', host = '127.0.0.1') => {
    const exchange = new Exchange();
    pools.dispatch(workspaceId, { origin: `http://${host}:${port}`, path: '/', method: 'POST', body: 'x' }, exchange);
    await exchange.ended;
    if (exchange.error) throw exchange.error;
    return exchange.body.toString();
  };
  beforeEach(async () => {
    pools = new OriginPools({ connections: null, connect: toServer }, 10, new OpenConnections());
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
  test('a workspace with many origins loses its own pools, not those of other workspaces', async () => {
    let connections = 0;
    server.on('connection', () => (connections += 1));
    server.on('request', (_, response: ServerResponse) => response.end('here'));
    await listen();
    const used = async (...asked: Parameters<typeof ask>) => {
      const before = connections;
      await ask(...asked);
      await nextTurn();
      return connections === before ? 'open' : 'new';
    };
    expect(await used('ws_calm')).toBe('new');
    for (let i = 0; i < 100; i += 1) await ask('ws_busy', `${i}.example`);
    expect(pools.size).toBe(10);
    expect(await used('ws_calm')).toBe('open');
    expect(await used('ws_busy', '99.example')).toBe('open');
    expect(await used('ws_busy', '0.example')).toBe('new');
  });

  describe('with a limit of open connections', () => {
    const open = () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
    const askTogether = (workspaceId: string, host: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => ask(workspaceId, host)));
    beforeEach(async () => {
      pools = new OriginPools(
        { connections: null, connect: toServer },
        100,
        new OpenConnections({ total: 24, ofWorkspace: 16 }),
      );
      // Responds when a request arrived over each of the connections that a test opens together.
      const waiting: ServerResponse[] = [];
      server.on('request', (_, response: ServerResponse) => {
        waiting.push(response);
        if (waiting.length === 8) for (const one of waiting.splice(0)) one.end('here');
      });
      await listen();
    });

    test('a workspace with many origins leaves a bounded number open, also if all its requests succeed', async () => {
      for (let i = 0; i < 10; i += 1)
        expect(await askTogether('ws_busy', `${i}.example`, 8)).toEqual(Array(8).fill('here'));
      await waitUntil(async () => (await open()) === 16, { what: '16 open connections' });
      expect(pools.size).toBe(2);
    });

    test('the workspace with the most connections makes room for others', async () => {
      for (let i = 0; i < 2; i += 1) await askTogether('ws_busy', `${i}.example`, 8);
      for (let i = 0; i < 2; i += 1) await askTogether('ws_other', `${i}.example`, 8);
      await waitUntil(async () => (await open()) === 24, { what: '24 open connections' });
      expect(pools.size).toBe(3);
    });
  });

  test('workspaces that call the same origin have separate connections', async () => {
    let connections = 0;
    server.on('connection', () => (connections += 1));
    server.on('request', (_, response: ServerResponse) => response.end('here'));
    await listen();
    await ask('ws_a');
    await ask('ws_b');
    expect([pools.size, connections]).toEqual([2, 2]);
  });
});
