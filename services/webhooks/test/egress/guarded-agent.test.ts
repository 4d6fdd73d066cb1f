import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OriginPools } from '@rms/net/guarded-http';
import { createEgress, createGuardedAgent, Exchange } from '@rms/net/guarded-http';
import { disposable, listenOnLoopback, perSuite, startReceiver, waitUntil } from '@rms/testkit';

async function statusOf(agent: OriginPools, origin: string): Promise<number> {
  const exchange = new Exchange();
  agent.dispatch('ws_1', { origin, path: '/', method: 'POST' }, exchange);
  await exchange.ended;
  if (exchange.error) throw exchange.error;
  return exchange.statusCode;
}

describe('the dialed address', () => {
  const receiver = perSuite(startReceiver);

  const call = async (
    host: string,
    options: { allow?: string[]; deny?: string[]; allowHttp?: boolean; responses?: string[] },
  ) => {
    await using agent = disposable(
      createGuardedAgent({
        egress: {
          ...createEgress({
            allowHttp: options.allowHttp ?? true,
            allowCidrs: options.allow ?? [],
            denyCidrs: options.deny ?? [],
          }),
          resolve: () => [Promise.resolve(options.responses ?? [])],
        },
      }),
    );
    return await statusOf(agent, `http://${host}:${receiver.port}`);
  };

  test.each([
    ['a literal address', '127.0.0.1', {}],
    ['a literal IPv6 address', '[::1]', {}],
    ['a name for a private address', 'a.example', { responses: ['127.0.0.1'] }],
    ['a name for a public and a private address', 'a.example', { responses: ['93.184.215.14', '127.0.0.1'] }],
    ['a denied address', '127.0.0.1', { allow: ['127.0.0.0/8'], deny: ['127.0.0.1/32'] }],
    [
      'a name for a denied address',
      'a.example',
      { allow: ['127.0.0.0/8'], deny: ['127.0.0.1/32'], responses: ['127.0.0.1'] },
    ],
    ['a mapped address', '[::ffff:127.0.0.1]', {}],
    ['http while only https is allowed', '127.0.0.1', { allow: ['127.0.0.0/8'], allowHttp: false }],
  ])('%s is rejected before anything is sent', async (_, host, options) => {
    await expect(call(host, options)).rejects.toMatchObject({ code: 'BLOCKED_ADDRESS' });
    expect(receiver.requests).toEqual([]);
  });

  test('a name that does not resolve is reported as not found', async () => {
    await expect(call('a.example', {})).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('an allowed address is reached, also by name', async () => {
    expect(await call('127.0.0.1', { allow: ['127.0.0.0/8'] })).toBe(200);
    expect(await call('a.example', { allow: ['127.0.0.0/8'], responses: ['127.0.0.1'] })).toBe(200);
    expect(await call('localhost', { allow: ['127.0.0.0/8'], responses: ['127.0.0.1', '::1'] })).toBe(200);
  });

  test('a busy connection is replaced after a minute, and the new address is resolved and checked', async () => {
    const { now: systemNow } = Date;
    let nowMs = Date.now();
    Date.now = () => nowMs;
    let received = 0;
    const other = createHttpServer((_, response) => {
      received += 1;
      response.end();
    });
    await once(other.listen(receiver.port, '127.0.0.2'), 'listening');
    let address = '127.0.0.1';
    const agent = createGuardedAgent({
      egress: {
        ...createEgress({ allowHttp: true, allowCidrs: ['127.0.0.0/8'], denyCidrs: ['127.0.0.3/32'] }),
        resolve: () => [Promise.resolve([address])],
      },
    });
    const ask = async () => {
      const status = await statusOf(agent, `http://a.example:${receiver.port}`);
      await nextTurn();
      return status;
    };
    try {
      await ask();
      address = '127.0.0.2';
      for (let second = 1; second <= 60; second += 1) {
        nowMs += 1_000;
        expect(await ask()).toBe(200);
      }
      expect(received).toBe(0);
      nowMs += 1_000;
      expect(await ask()).toBe(200);
      expect(received).toBe(1);
      address = '127.0.0.3';
      expect(await ask()).toBe(200);
      expect(received).toBe(2);
      nowMs += 61_000;
      await expect(ask()).rejects.toMatchObject({ code: 'BLOCKED_ADDRESS' });
    } finally {
      await agent.close();
      other.close();
      Date.now = systemNow;
    }
  });

  test('requests to an https origin whose handshake hangs each open a connection', async () => {
    let connections = 0;
    const mute = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
    });
    const { port, close } = await listenOnLoopback(mute);
    const agent = createGuardedAgent({ egress: createEgress({ allowHttp: false, allowCidrs: ['127.0.0.0/8'] }) });
    const request = () => statusOf(agent, `https://127.0.0.1:${port}`);
    try {
      const all = Promise.allSettled([request(), request(), request()]);
      await waitUntil(() => connections === 3, { what: 'three connections' });
      await agent.destroy();
      expect((await all).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
    } finally {
      await agent.destroy();
      await close();
    }
  });
});
