import { Agent, request } from 'node:http';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { perTest, waitUntil } from '@rms/testkit';
import { createGateway, createGatewayContext, readGatewayConfig } from '../src/index.ts';
import { startGateway } from './support/start-gateway.ts';
import { send } from './support/wire.ts';

describe('Start and stop', () => {
  const api = perTest(startGateway);

  /** Blocks requests to the resources service. Returns functions that unblock them. */
  const hold = () => {
    const held: (() => void)[] = [];
    api.resources.before = () => new Promise((resolve) => void held.push(resolve));
    return held;
  };

  test('on shutdown, requests in flight finish and new connections are rejected', async () => {
    const key = api.auth.newKey('admin').value;
    const { live, sandbox } = api.gateway.addresses;
    const held = hold();
    const response = api.send('POST', '/v1/resources', { key, json: { name: 'last' } });
    await waitUntil(() => held.length === 1, { what: 'the request to be in flight' });
    const stopped = api.gateway.stop();
    for (const address of [live, sandbox]) {
      await waitUntil(
        () =>
          send(address, 'GET', '/livez').then(
            () => false,
            () => true,
          ),
        { what: 'rejected connections' },
      );
    }
    held[0]?.();
    expect((await response).status).toBe(201);
    await stopped;
  });

  test('on shutdown, a keep-alive connection is closed after the response in flight', async () => {
    const key = api.auth.newKey('admin').value;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { live } = api.gateway.addresses;
    const get = (path: string) =>
      new Promise<{ status: number; connection: string | undefined; text: string }>((resolve, reject) => {
        const outgoing = request(
          `${live}${path}`,
          { agent, headers: { Authorization: `Bearer ${key}` } },
          (incoming) => {
            let text = '';
            incoming.on('data', (chunk) => {
              text += chunk;
            });
            incoming.on('end', () =>
              resolve({ status: incoming.statusCode ?? 0, connection: incoming.headers.connection, text }),
            );
          },
        );
        outgoing.on('error', reject).end();
      });
    expect((await get('/livez')).connection).toBe('keep-alive');
    const held = hold();
    const first = get('/v1/resources');
    await waitUntil(() => held.length === 1, { what: 'the request to be in flight' });
    const stopped = api.gateway.stop();
    held[0]?.();
    expect((await first).status).toBe(200);
    await stopped;
    agent.destroy();
  });

  test('only auth determines readiness, and health checks have no details', async () => {
    const ready = { status: 200, body: { status: 'ready' } };
    expect(await api.send('GET', '/readyz')).toMatchObject(ready);
    await api.servers.resources.stop(0);
    expect(await api.send('GET', '/readyz')).toMatchObject(ready);
    api.servers.auth.health.set(false);
    const { status, headers, body } = await send(api.gateway.addresses.live, 'GET', '/readyz');
    expect([status, body]).toEqual([503, { status: 'not_ready' }]);
    expect(headers['retry-after']).toBe('1');
    expect((await api.send('GET', '/livez')).status).toBe(200);
    expect(await api.send('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'healthy' } });
    api.servers.auth.health.set(true);
    expect((await api.send('GET', '/readyz')).status).toBe(200);
  });

  test('the start fails if a port is in use, and a stop releases the opened resources', async () => {
    const settings = readSettings({});
    const log = createLogger({ name: 'second', level: 'silent' });
    const port = Number(new URL(api.gateway.addresses.live).port);
    const config = { ...readGatewayConfig(settings), livePort: 0, sandboxPort: port };
    const second = createGateway(config, createGatewayContext(settings, { limiter: api.limiter, log }));
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    await second.stop();
    expect((await api.send('GET', '/livez')).status).toBe(200);
  });
});
