import { createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { hostileTargets, hostileZone } from '@rms/net/egress/hostile-targets';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import {
  type DnsServer,
  freePort,
  type LoopbackServer,
  listenOnLoopback,
  startDnsServer,
  startTrap,
  type Trap,
  waitUntil,
  watchDials,
} from '@rms/testkit';
import { type EgressProxyConfig, tunnelLimits } from '../src/config.ts';
import { createEgressProxy } from '../src/service.ts';
import { askProxy, connectThrough, readAll } from './connect-client.ts';

const zone = {
  ...hostileZone,
  'hooks.example': { a: ['127.0.0.1'] },
  'silent.example': { silent: true as const },
  'flips.example': { a: [['127.0.0.1'], ['127.0.0.2']] },
};

describe('the egress proxy', () => {
  let dns: DnsServer;
  let trap: Trap;
  let endpoint: LoopbackServer;
  let port: number;
  let onConnection: (socket: Socket) => void = () => {};
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    [dns, trap] = [await startDnsServer(zone), await startTrap()];
    const server = createServer({ allowHalfOpen: true }, (socket) => onConnection(socket.on('error', () => {})));
    endpoint = await listenOnLoopback(server);
    port = endpoint.port;
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(async () => {
    await endpoint?.close();
    await trap?.close();
    await dns?.close();
  });

  /** Starts a proxy that may call public addresses and 127.0.0.1. */
  const start = async (overrides: Partial<EgressProxyConfig> = {}) => {
    const output = new PassThrough();
    const metrics = createMetrics('egress-proxy');
    const config: EgressProxyConfig = {
      host: '127.0.0.1',
      port: 0,
      credentials: undefined,
      connections: 100,
      metricsAddress: undefined,
      guard: { allowHttp: false, allowCidrs: ['127.0.0.1/32'] },
      dnsServers: [dns.address],
      limits: { ...tunnelLimits, drainMs: 200 },
      ...overrides,
    };
    const proxy = createEgressProxy(config, { log: createLogger({ name: 'proxy', destination: output }), metrics });
    await proxy.start();
    closing.push(() => proxy.stop());
    return {
      proxy,
      at: proxy.address,
      logged: () => String(output.read() ?? ''),
      shown: () => metrics.metrics(),
    };
  };
  const echo = (socket: Socket) => void socket.pipe(socket);

  test('reaches none of the hostile targets and does not even start to connect', async () => {
    const { at, shown } = await start({ guard: { allowHttp: true, allowCidrs: [] } });
    const authorities = hostileTargets(trap.port).flatMap(({ url, shownBy }) => {
      // Tests the host as written in the URL and as normalized by the URL parser.
      const [, raw = ''] = /^https?:\/\/([^/?#\\\s]+)/i.exec(url) ?? [];
      const parsed = URL.canParse(url) ? new URL(url) : undefined;
      // Names that are shown 'later' first resolve to a harmless address, which the proxy would dial.
      if (raw === '' || shownBy === 'later') return [];
      const host = parsed ? [`${parsed.hostname}:${parsed.port || 443}`] : [];
      return [raw, raw.includes(':') ? raw : `${raw}:443`, ...host];
    });
    const public_ = /(?:^|@)public\.example:(?:443|80)$/;
    const requested = [...new Set(authorities)].filter((authority) => !public_.test(authority));
    expect(requested.length).toBeGreaterThan(250);
    const watch = watchDials();
    const responses = [];
    for (const authority of requested) responses.push([authority, (await connectThrough(at, authority)).status]);
    watch.stop();
    expect(responses.filter(([, status]) => status !== 403 && status !== 400)).toEqual([]);
    expect({ dialed: watch.additional(Number(at.split(':')[1])), reachedAt: trap.reachedAt }).toEqual({
      dialed: [],
      reachedAt: [],
    });
    expect(await shown()).not.toContain('result="connected"');
  });

  test('dials only checked addresses: a name that changes to a forbidden address is rejected and logged', async () => {
    onConnection = echo;
    const { at, logged } = await start();
    const watch = watchDials();
    const { status, head, socket } = await connectThrough(at, `flips.example:${port}`);
    socket.destroy();
    expect([status, head]).toEqual([200, expect.stringContaining('Proxy-Status: rms-egress; next-hop="127.0.0.1"')]);
    const refused = await connectThrough(at, `flips.example:${port}`);
    watch.stop();
    expect([refused.status, refused.head]).toEqual([403, expect.stringContaining('error=destination_ip_prohibited')]);
    expect(watch.additional(Number(at.split(':')[1]))).toEqual([`127.0.0.1 port ${port}`]);
    expect(logged()).toContain(`"host":"flips.example","port":"${port}","addresses":["127.0.0.2"]`);
  });

  test('forwards bytes, including those sent with the request', async () => {
    onConnection = echo;
    const { at } = await start();
    const authority = `127.0.0.1:${port}`;
    const { status, rest, socket } = await askProxy(
      at,
      `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\nearly `,
    );
    socket.end('and late');
    expect([status, rest.toString() + (await readAll(socket))]).toEqual([200, 'early and late']);
  });

  test('lets either side finish sending and still receive', async () => {
    const { at } = await start();
    onConnection = (socket) => {
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk;
      });
      socket.once('end', () => socket.end(`heard ${received}`));
    };
    const first = await connectThrough(at, `127.0.0.1:${port}`);
    first.socket.end('all');
    expect(await readAll(first.socket)).toBe('heard all');

    const received = new Promise<string>((resolve) => {
      onConnection = (socket) => {
        socket.end('nothing more from here');
        void readAll(socket).then(resolve);
      };
    });
    const second = await connectThrough(at, `127.0.0.1:${port}`);
    expect(second.rest.toString() + (await readAll(second.socket))).toBe('nothing more from here');
    second.socket.end('an answer');
    expect(await received).toBe('an answer');
  });

  test('a broken connection on one side ends the other', async () => {
    const { at, shown } = await start();
    const ended = new Promise<void>((resolve) => {
      onConnection = (socket) => void socket.on('close', () => resolve()).resume();
    });
    const { socket } = await connectThrough(at, `127.0.0.1:${port}`);
    socket.resetAndDestroy();
    await ended;
    onConnection = (other) => other.resetAndDestroy();
    const reset = await connectThrough(at, `127.0.0.1:${port}`);
    await readAll(reset.socket);
    await waitUntil(async () => /rms_egress_tunnels{[^}]*} 0/.test(await shown()), { what: 'no tunnel to be open' });
  });

  test.each([
    ['inactivity', { idleMs: 50 }],
    ['age', { lifeMs: 50 }],
  ])('%s ends a tunnel', async (_, limits) => {
    onConnection = (socket) => void socket.resume();
    const { at } = await start({ limits: { ...tunnelLimits, ...limits, drainMs: 200 } });
    const { status, socket } = await connectThrough(at, `127.0.0.1:${port}`);
    expect([status, await readAll(socket)]).toEqual([200, '']);
  });

  test('accepts only complete CONNECT requests of bounded size', async () => {
    const { at, shown } = await start();
    const ask = async (bytes: string) => (await askProxy(at, bytes)).status;
    const host = `127.0.0.1:${port}`;
    expect(await ask(`GET / HTTP/1.1\r\nHost: x\r\n\r\n`)).toBe(405);
    expect(await ask(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toBe(405);
    expect(await ask(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)).toBe(405);
    expect(await ask('no HTTP at all\r\n\r\n')).toBe(400);
    expect(await ask(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nX: ${'x'.repeat(10_000)}\r\n\r\n`)).toBe(431);
    for (const authority of [
      '/',
      '127.0.0.1',
      ':443',
      'a b:443',
      'user@a.example:443',
      'a.example:x',
      'a:65536',
      '[::1:443',
    ]) {
      expect([authority, await ask(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`)]).toEqual([authority, 400]);
    }
    expect(await shown()).toMatch(/rms_egress_connects_total{result="malformed",[^}]*} 13/);
  });

  test.each(['', 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n'])('an incomplete head times out: %j', async (bytes) => {
    const { at } = await start({ limits: { ...tunnelLimits, headMs: 100, drainMs: 200 } });
    expect((await askProxy(at, bytes)).status).toBe(408);
  });

  test('times out if a name server does not respond', async () => {
    const { at } = await start({ limits: { ...tunnelLimits, connectMs: 50, drainMs: 200 } });
    const { status, head } = await connectThrough(at, 'silent.example:443');
    expect([status, head]).toEqual([504, expect.stringContaining('error=dns_timeout')]);
  });

  test('requires the configured credentials', async () => {
    onConnection = echo;
    const { at } = await start({ credentials: () => 'rms:päss:wörd' });
    const authority = `127.0.0.1:${port}`;
    const noUser = await connectThrough(at, authority);
    expect([noUser.status, noUser.head]).toEqual([407, expect.stringContaining('Proxy-Authenticate: Basic realm=')]);
    for (const wrong of ['rms', 'rms:', 'rms:päss', 'rms:päss:wörd ', 'RMS:päss:wörd']) {
      expect([wrong, (await connectThrough(at, authority, wrong)).status]).toEqual([wrong, 407]);
    }
    const { status, socket } = await connectThrough(at, authority, 'rms:päss:wörd');
    socket.destroy();
    expect(status).toBe(200);
  });

  test('reports why it could not connect', async () => {
    const { at } = await start();
    const ask = async (authority: string) => {
      const { status, head } = await connectThrough(at, authority);
      return [status, /error=(\w+)/.exec(head)?.[1]];
    };
    expect(await ask(`127.0.0.1:${await freePort()}`)).toEqual([502, 'connection_refused']);
    expect(await ask('nowhere.example:443')).toEqual([502, 'dns_error']);
    expect(await ask('10.0.0.1:443')).toEqual([403, 'destination_ip_prohibited']);
    expect(await ask('127.0.0.1:25')).toEqual([403, 'destination_ip_prohibited']);
  });

  test('limits concurrent connections and closes further ones', async () => {
    onConnection = echo;
    const { at, shown } = await start({ connections: 1 });
    const { socket } = await connectThrough(at, `127.0.0.1:${port}`);
    expect((await connectThrough(at, `127.0.0.1:${port}`)).status).toBe(0);
    expect(await shown()).toMatch(/result="over_limit",[^}]*} 1/);
    socket.destroy();
  });

  test('stops after its tunnels have ended', async () => {
    const { at, proxy } = await start({ limits: { ...tunnelLimits, drainMs: 20_000 } });
    onConnection = echo;
    const { socket } = await connectThrough(at, `127.0.0.1:${port}`);
    const stopped = proxy.stop();
    expect((await connectThrough(at, `127.0.0.1:${port}`)).status).toBe(0);
    socket.end('the last words');
    expect(await readAll(socket)).toBe('the last words');
    await stopped;
  });

  test('does not wait indefinitely for tunnels', async () => {
    onConnection = (socket) => void socket.resume();
    const { at, proxy } = await start();
    const { socket } = await connectThrough(at, `127.0.0.1:${port}`);
    await proxy.stop();
    expect(await readAll(socket)).toBe('');
    socket.destroy();
  });
});
