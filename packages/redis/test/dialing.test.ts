import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { disposable, freePort, secondAddress, serveNames, testSlowNames, waitUntil } from '@rms/testkit';
import { connectLater } from '../src/connect-later.ts';

/** Starts a server that accepts every command. */
async function listen(port: number, address = '127.0.0.1'): Promise<Server> {
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        for (const _ of String(data).matchAll(/^\*\d+\r$/gm)) socket.write('+OK\r\n');
      });
  });
  await once(server.listen(port, address), 'listening');
  return server;
}

describe('a client connects to Redis', () => {
  testSlowNames(async () => {
    const server = await listen(0);
    return {
      port: (server.address() as AddressInfo).port,
      reach: async (host, port) => {
        await using redis = disposable(
          connectLater({ url: `redis://${host}:${port}` }, undefined, { timeoutMs: 60_000 }),
          'disconnect',
        );
        await redis.connect();
        expect(await redis.ping()).toBe('OK');
      },
      stop: () => server.close(),
    };
  });

  test('that could not be found at first', async () => {
    const [sentinelPort, port] = [await freePort(), await freePort()];
    const redis = connectLater({ url: 'redis://main', sentinels: [`127.0.0.1:${sentinelPort}`] });
    const errors: string[] = [];
    redis.on('error', ({ message }: Error) => errors.push(message));
    await expect(redis.connect()).rejects.toThrow('closed');
    expect(errors).toEqual([expect.stringContaining('no sentinel knows the primary "main"')]);
    const server = await listen(port);
    const sentinel = createServer((socket) => {
      socket
        .on('error', () => {})
        .on('data', () => socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${`${port}`.length}\r\n${port}\r\n`));
    }).listen(sentinelPort, '127.0.0.1');
    try {
      await waitUntil(() => redis.status === 'ready', { what: 'the connection' });
    } finally {
      redis.disconnect();
      sentinel.close();
      server.close();
    }
  });

  test('that its name leads to now, although the previous one still runs', async () => {
    const first = await listen(0);
    const { port } = first.address() as AddressInfo;
    const second = await listen(port, secondAddress);
    const reached: string[] = [];
    first.on('connection', () => reached.push('first'));
    second.on('connection', () => reached.push('second'));
    const addresses = ['127.0.0.1'];
    const removeName = serveNames({ 'redis.example': addresses });
    const redis = connectLater({ url: `redis://redis.example:${port}` }, undefined, { followMs: 20 });
    const errors: string[] = [];
    redis.on('error', ({ message }: Error) => errors.push(message));
    try {
      await redis.connect();
      addresses.splice(0, 1, secondAddress);
      await waitUntil(() => reached.length === 2 && redis.status === 'ready', { what: 'the second server' });
      expect(reached).toEqual(['first', 'second']);
      expect(errors).toEqual(['the address of Redis leads to another server; reconnecting']);
    } finally {
      redis.disconnect();
      removeName();
      first.close();
      second.close();
    }
  });
});
