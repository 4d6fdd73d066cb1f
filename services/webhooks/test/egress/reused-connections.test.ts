import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { makeSecret, toSigningSecret } from '@rms/base/signature';
import { createEgress, createGuardedAgent, type OriginPools } from '@rms/net/guarded-http';
import { makeCertificates, suiteFolder } from '@rms/testkit';
import { send } from '../../src/engine/attempt.ts';
import { endpointAt } from '../attempt-at.ts';

const secrets = { current: toSigningSecret(makeSecret()), previous: undefined, headers: {} };
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

/** A connection's responses to its first, second, … request. */
type Script = readonly ((socket: Socket) => void)[];
const respond = (socket: Socket) => void socket.write(ok);
const end = (socket: Socket) => void socket.end();
// A TLS socket cannot be reset; it ends without the alert that announces the end.
const reset = (socket: Socket) => void (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy());
const endIdle = (socket: Socket) =>
  void socket.end('HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
const timeOut = (socket: Socket) => void socket.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n');
const beginThenReset = (socket: Socket) => void socket.write('H', () => setImmediate(() => reset(socket)));

describe('a request over a connection that the receiver closes at this moment', () => {
  const folder = suiteFolder('reused');
  const authority = makeCertificates(folder);
  const { certFile, keyFile } = authority.issue('receiver', { sans: ['127.0.0.1'] });
  const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const trusted = readFileSync(authority.caFile, 'utf8');
  let server: Server;
  let agent: OriginPools;
  /** The `webhook-id` of every request, one list per connection. */
  let requests: string[][];

  /** @param scripts one per connection; the last one repeats */
  const start = async (protocol: 'http' | 'https', ...scripts: Script[]) => {
    requests = [];
    const serve = (socket: Socket) => {
      const script = scripts[Math.min(requests.length, scripts.length - 1)] ?? [];
      const own: string[] = [];
      requests.push(own);
      let text = '';
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        text += chunk;
        if (!text.endsWith('{}')) return;
        const act = script[own.length] ?? respond;
        own.push(/^webhook-id: (.*)\r$/m.exec(text)?.[1] ?? '');
        text = '';
        act(socket);
      });
    };
    server = protocol === 'https' ? createTlsServer(tls, serve) : createServer(serve);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    agent = createGuardedAgent({
      egress: createEgress({ allowHttp: true, allowCidrs: ['127.0.0.0/8'] }),
      ca: () => trusted,
    });
    return async (eventId: string) => {
      const url = `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const body = Buffer.from('{}');
      const result = await send(agent, secrets, {
        endpoint: endpointAt(url),
        eventId,
        requestId: 'req_1',
        traceparent: '',
        workspaceId: 'ws_1',
        body,
      });
      // The connection is available for the next request in the next turn of the event loop.
      await nextTurn();
      return result;
    };
  };
  afterEach(async () => {
    await agent.destroy();
    server.close();
  });

  test.each([
    ['http', 'ends', end],
    ['http', 'resets', reset],
    ['http', 'ends with a 408', endIdle],
    ['https', 'ends', end],
    ['https', 'resets', reset],
    ['https', 'ends with a 408', endIdle],
  ] as const)('%s: is repeated over a new connection if the receiver %s it', async (protocol, _, close) => {
    const attempt = await start(protocol, [respond, close]);
    expect(await attempt('evt_1')).toMatchObject({ statusCode: 200, error: '' });
    expect(await attempt('evt_2')).toMatchObject({ statusCode: 200, error: '' });
    expect(requests).toEqual([['evt_1', 'evt_2'], ['evt_2']]);
  });

  test('a 408 of a new connection is the response', async () => {
    const attempt = await start('http', [respond, endIdle], [endIdle]);
    await attempt('evt_1');
    expect(await attempt('evt_2')).toMatchObject({ statusCode: 408, error: expect.stringMatching(/^status: /) });
    expect(requests).toEqual([['evt_1', 'evt_2'], ['evt_2']]);
  });

  test('a 408 that does not close the connection is the response', async () => {
    const attempt = await start('http', [respond, timeOut]);
    await attempt('evt_1');
    expect(await attempt('evt_2')).toMatchObject({ statusCode: 408, error: expect.stringMatching(/^status: /) });
    expect(requests).toEqual([['evt_1', 'evt_2']]);
  });

  test('a 408 on the idle connection ends it, and the next request uses a new one', async () => {
    const attempt = await start('http', [
      (socket) => {
        respond(socket);
        endIdle(socket);
      },
    ]);
    expect(await attempt('evt_1')).toMatchObject({ statusCode: 200, error: '' });
    expect(await attempt('evt_2')).toMatchObject({ statusCode: 200, error: '' });
  });

  test('is repeated only once', async () => {
    const attempt = await start('http', [respond, reset], [reset]);
    await attempt('evt_1');
    expect(await attempt('evt_2')).toMatchObject({ statusCode: 0, error: expect.stringMatching(/^connection: /) });
    expect(requests).toEqual([['evt_1', 'evt_2'], ['evt_2']]);
  });

  test.each(['http', 'https'] as const)('%s: is not repeated after a byte of the response', async (protocol) => {
    const attempt = await start(protocol, [respond, beginThenReset]);
    await attempt('evt_1');
    expect(await attempt('evt_2')).toMatchObject({ statusCode: 0, error: expect.stringMatching(/^connection: /) });
    expect(requests).toEqual([['evt_1', 'evt_2']]);
  });

  test.each([
    ['ends', end],
    ['resets', reset],
  ] as const)('is not repeated if the receiver %s a new connection', async (_, close) => {
    const attempt = await start('http', [close]);
    expect(await attempt('evt_1')).toMatchObject({ statusCode: 0, error: expect.stringMatching(/^connection: /) });
    expect(requests).toEqual([['evt_1']]);
  });

  test('the connection of the repetition is closed with the response', async () => {
    const attempt = await start('http', [respond, reset]);
    await attempt('evt_1');
    await attempt('evt_2');
    expect(await attempt('evt_3')).toMatchObject({ statusCode: 200 });
    expect(requests).toEqual([['evt_1', 'evt_2'], ['evt_2'], ['evt_3']]);
  });
});
