import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { parseCidrs } from '@rms/base/cidr';
import type { RmsError } from '@rms/base/errors';
import { BodyBudget, errorResponse, type Listener, listen, readJsonBody, sendResponse } from '@rms/net/http';
import { createLogger } from '@rms/runtime/logging';
import { waitUntil } from '@rms/testkit';
import { parseResponse } from './support/wire.ts';

/** Limits of a listener. Only tests of a timeout shorten it. */
describe('Slow and greedy connections', () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    name: 'unit',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  const times = { headersMs: 60_000, requestMs: 60_000, unreadMs: 60_000, checkEveryMs: 20 };
  const short = { times: { ...times, headersMs: 100, requestMs: 200, unreadMs: 100 } };
  const listeners: Listener[] = [];
  const refused: string[] = [];
  const open = async (handle: RequestListener, options: Partial<Parameters<typeof listen>[0]> = {}) => {
    const listener = await listen({
      onRefused: (reason) => refused.push(reason),
      host: '127.0.0.1',
      port: 0,
      handle,
      maxConnections: 1_000,
      maxConnectionsPerAddress: 0,
      maxHeadersKib: 32,
      trustedProxies: parseCidrs([]),
      keepAliveMs: 100,
      log,
      times,
      ...options,
    });
    listeners.push(listener);
    return {
      client(localAddress = '127.0.0.1'): { socket: Socket; text: () => string } {
        const port = Number(new URL(listener.address).port);
        const socket = connect({ port, host: '127.0.0.1', localAddress });
        let text = '';
        socket
          .on('error', () => {})
          .on('data', (chunk: Buffer) => {
            text += chunk.toString('latin1');
          });
        return { socket, text: () => text };
      },
    };
  };
  const closed = async (socket: Socket) => {
    // once() would reject if the connection is reset.
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  };
  const readBody: RequestListener = (request, response) => {
    response.setHeader('X-Request-ID', 'known-request');
    readJsonBody(request, response, { budget: new BodyBudget(), owners: [] }).then(
      () => response.end('read'),
      () => response.destroy(),
    );
  };
  afterEach(async () => {
    refused.length = 0;
    await Promise.all(listeners.splice(0).map((listener) => listener.stop(0)));
  });

  test('a slow request head gets 408, and the message names the limits', async () => {
    const { client } = await open(readBody, short);
    const { socket, text } = client();
    socket.write('GET / HTTP/1.1\r\n');
    const drip = setInterval(() => socket.write('X-Slow: 1\r\n'), 10);
    await closed(socket);
    clearInterval(drip);
    const response = parseResponse(text());
    expect([response.status, response.body.error.code, response.headers.connection]).toEqual([
      408,
      'request_timeout',
      'close',
    ]);
    expect(response.body.error.message).toBe(
      'The request did not arrive in time: its headers must arrive within 0.1 s, and all of it within 0.2 s. Send it again.',
    );
  });

  test('a silent connection is closed', async () => {
    const { client } = await open(readBody, short);
    const { socket, text } = client();
    await closed(socket);
    expect(text() === '' || parseResponse(text()).status === 408).toBe(true);
  });

  test('a stop closes silent connections, and waits for responses', async () => {
    const requests: (() => void)[] = [];
    const { client } = await open((_, response) => {
      requests.push(() => response.end('done'));
    });
    const [silent, other] = [client(), client()];
    await once(silent.socket, 'connect');
    other.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    const respond = await waitUntil(() => requests[0], { what: 'the request' });
    const stopped = listeners[0]?.stop(60_000);
    await closed(silent.socket);
    respond();
    await stopped;
    expect(other.text()).toContain('done');
  });

  test('a slow body gets 408 with its request ID', async () => {
    const { client } = await open(readBody, short);
    const { socket, text } = client();
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n');
    const drip = setInterval(() => socket.write(' '), 10);
    await closed(socket);
    clearInterval(drip);
    const response = parseResponse(text());
    expect([response.status, response.headers['x-request-id'], response.headers.connection]).toEqual([
      408,
      'known-request',
      'close',
    ]);
  });

  test('a response that the client does not read is dropped with its connection', async () => {
    let lookups: IncomingMessage | undefined;
    const { client } = await open((request, response) => {
      lookups = request;
      response.end(Buffer.alloc(32 * 1024 * 1024));
    }, short);
    const { socket } = client();
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitUntil(() => lookups?.socket.destroyed === true, { what: 'the connection to be closed' });
    socket.destroy();
  });

  test('a response that the client reads in time is complete, regardless of its size', async () => {
    const size = 32 * 1024 * 1024;
    const { client } = await open((_request, response) => response.end(Buffer.alloc(size)));
    const { socket, text } = client();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await closed(socket);
    expect(text().length).toBeGreaterThan(size);
  });

  test('an idle connection is closed', async () => {
    const { client } = await open((_request, response) => response.end('done'));
    const { socket, text } = client();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(socket);
    expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text().endsWith('done')).toBe(true);
  });

  test('a connection may have a hundred requests in flight; one more closes it', async () => {
    let waiting = 0;
    const { client } = await open(() => {
      waiting += 1;
    });
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    const patient = client();
    patient.socket.write(request.repeat(100));
    await waitUntil(() => waiting === 100, { what: 'a hundred requests' });
    expect(patient.socket.closed).toBe(false);
    patient.socket.destroy();
    const greedy = client();
    greedy.socket.write(request.repeat(101));
    await closed(greedy.socket);
    expect(greedy.text()).toBe('');
  });

  test('the number of completed pipelined requests is unlimited', async () => {
    const { client } = await open((_request, response) => response.end('x'));
    const { socket, text } = client();
    for (let responses = 50; responses <= 500; responses += 50) {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50));
      await waitUntil(() => text().split('HTTP/1.1 200').length > responses, { what: 'the responses' });
    }
    socket.destroy();
  });

  test('an idle connection is closed', async () => {
    const { client } = await open((_request, response) => response.end('x'));
    const { socket, text } = client();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(socket);
    expect(text()).toMatch(/^HTTP\/1\.1 200/);
  });

  test('connections over the limit are closed, and the log reports it once', async () => {
    const { client } = await open((_request, response) => response.end('x'), {
      maxConnections: 2,
    });
    const held = [client(), client()];
    for (const { socket } of held) await once(socket, 'connect');
    const ask = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    for (let i = 0; i < 5; i += 1) {
      const { socket, text } = client();
      socket.write(ask);
      await closed(socket);
      expect(text()).toBe('');
    }
    const dropped = lines.filter((line) => line.msg === 'too many connections');
    expect(dropped).toEqual([expect.objectContaining({ level: 'warn', dropped: 1, max_connections: 2 })]);
    held[0]?.socket.end(ask);
    await closed(held[0]?.socket as Socket);
    expect(held[0]?.text()).toMatch(/^HTTP\/1\.1 200/);
    held[1]?.socket.destroy();
  });

  describe('budget for unfinished bodies', () => {
    const head =
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 10000\r\n\r\n';
    const json = JSON.stringify('x'.repeat(9_998));
    const start = async (limits: ConstructorParameters<typeof BodyBudget>[0]) => {
      const budget = new BodyBudget(limits);
      let received = 0;
      const handle: RequestListener = async (request, response) => {
        const owners = String(request.headers.owner ?? request.socket.remoteAddress).split(',');
        const reading = readJsonBody(request, response, { budget, owners });
        request.on('data', (chunk: Buffer) => {
          received += chunk.length;
        });
        await reading.then(
          () => response.end('read'),
          (error: RmsError) => sendResponse(response, errorResponse(error, undefined)),
        );
      };
      const { client } = await open(handle);
      return {
        /** Sends part of a body. Resolves when the server has read it. */
        async send(bytes: number, { address = '127.0.0.1', owners }: { address?: string; owners?: string } = {}) {
          const { socket, text } = client(address);
          const before = received;
          socket.write(owners === undefined ? head : head.replace('\r\n\r\n', `\r\nOwner: ${owners}\r\n\r\n`));
          socket.write(json.slice(0, bytes));
          await waitUntil(() => received === before + bytes, { what: 'the part of the body' });
          return {
            /** Sends the rest and returns the status and Retry-After. */
            async finish() {
              socket.write(json.slice(bytes));
              await closed(socket);
              const { status, headers } = parseResponse(text());
              return [status, headers['retry-after']];
            },
            refused: () => waitUntil(() => text().includes('503'), { what: 'the refusal' }),
          };
        },
      };
    };

    test('beyond the limit of a network, its largest body gets 503; other bodies and networks are not affected', async () => {
      const { send } = await start({ ownerBytes: 22_000, totalBytes: 1_000_000 });
      const small = await send(100);
      const large = await send(9_000);
      const other = await send(9_000, { address: '127.0.0.2' });
      const larger = await send(9_500);
      expect(await (await send(5_000)).finish()).toEqual([200, undefined]);
      await larger.refused();
      expect(await larger.finish()).toEqual([503, '1']);
      for (const body of [small, large, other]) expect(await body.finish()).toEqual([200, undefined]);
    });

    test('beyond the limit of the process, the largest body of the network with the most gets 503', async () => {
      const { send } = await start({ ownerBytes: 1_000_000, totalBytes: 30_000 });
      const small = await send(9_900, { address: '127.0.0.2' });
      const first = await send(7_000);
      const second = await send(6_000);
      expect(await (await send(100, { address: '127.0.0.3' })).finish()).toEqual([200, undefined]);
      await first.refused();
      expect(await first.finish()).toEqual([503, '1']);
      for (const body of [small, second]) expect(await body.finish()).toEqual([200, undefined]);
    });

    test('beyond the limit of a workspace, its largest body gets 503, whatever its network', async () => {
      const { send } = await start({ ownerBytes: 15_000, totalBytes: 1_000_000 });
      const first = await send(9_000, { owners: 'network 1,ws_1' });
      const second = await send(8_000, { owners: 'network 2,ws_1' });
      await first.refused();
      expect(await second.finish()).toEqual([200, undefined]);
    });

    test('bodies that have arrived, failed or been refused count no more', async () => {
      const { send } = await start({ ownerBytes: 12_000, totalBytes: 12_000 });
      for (let i = 0; i < 5; i += 1) expect(await (await send(9_000)).finish()).toEqual([200, undefined]);
      const first = await send(9_000);
      const second = await send(8_000);
      await first.refused();
      expect(await second.finish()).toEqual([200, undefined]);
      expect(await (await send(9_000)).finish()).toEqual([200, undefined]);
    });

    test('a body in many chunks counts their memory', () => {
      const budget = new BodyBudget({ ownerBytes: 100_000, totalBytes: 1_000_000 });
      let isRefused = false;
      const body = budget.open(['network'], () => {
        isRefused = true;
      });
      for (let i = 0; i < 1_000 && !isRefused; i += 1) budget.receive(body, 1);
      expect(isRefused).toBe(true);
    });
  });

  describe('limit per client address', () => {
    const held: Socket[] = [];
    afterEach(() => {
      for (const socket of held.splice(0)) socket.destroy();
    });
    const ask = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const start = async (options: Parameters<typeof open>[1]) => {
      const { client } = await open((_request, response) => response.end('x'), options);
      return {
        /** Opens a connection and keeps it without a request. */
        async hold(address: string) {
          const { socket } = client(address);
          held.push(socket);
          await once(socket, 'connect');
          return socket;
        },
        /** Sends a request over a new connection. Returns the status; 0 if the connection was refused. */
        async ask(address: string) {
          const { socket, text } = client(address);
          socket.write(ask);
          await closed(socket);
          return text() === '' ? 0 : parseResponse(text()).status;
        },
      };
    };

    test('an address with too many connections gets no more, and other addresses can still connect', async () => {
      const { hold, ask } = await start({ maxConnections: 4, maxConnectionsPerAddress: 2 });
      const first = await hold('127.0.0.2');
      await hold('127.0.0.2');
      for (let i = 0; i < 5; i += 1) expect(await ask('127.0.0.2')).toBe(0);
      expect(await ask('127.0.0.1')).toBe(200);
      expect(refused).toEqual(Array(5).fill('too_many_of_address'));
      const reports = lines.filter(({ msg }) => msg === 'too many connections of an address');
      expect(reports).toEqual([
        expect.objectContaining({ level: 'warn', address: '127.0.0.2', max_connections_per_address: 2 }),
      ]);
      first.destroy();
      await waitUntil(async () => (await ask('127.0.0.2')) === 200, { what: 'the closed connection to be counted' });
    });

    test('connections of trusted proxies are not limited', async () => {
      const { hold, ask } = await start({
        maxConnectionsPerAddress: 1,
        trustedProxies: parseCidrs(['127.0.0.2/32']),
      });
      await hold('127.0.0.2');
      await hold('127.0.0.3');
      expect([await ask('127.0.0.2'), await ask('127.0.0.3')]).toEqual([200, 0]);
    });

    test('0 means no limit', async () => {
      const { hold, ask } = await start({ maxConnectionsPerAddress: 0 });
      for (let i = 0; i < 20; i += 1) await hold('127.0.0.2');
      expect(await ask('127.0.0.2')).toBe(200);
    });
  });
});
