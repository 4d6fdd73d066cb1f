import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { parseProxy } from '@rms/net/dial';
import { hostileTargets, hostileZone } from '@rms/net/egress/hostile-targets';
import { createEgress, createGuardedAgent, type EgressConfig } from '@rms/net/guarded-http';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import {
  type DnsServer,
  freePort,
  type LoopbackServer,
  listenOnLoopback,
  makeCertificates,
  type Program,
  perSuite,
  startDnsServer,
  startProgram,
  startTrap,
  type Trap,
  waitUntil,
} from '@rms/testkit';
import { soleAttemptAt } from '../attempt-at.ts';
import { newEvent, newTenant, retries, startWebhooks, type Tenant, type Webhooks } from '../support.ts';

const folder = mkdtempSync(join(tmpdir(), 'rms-through-proxy-'));
const main = fileURLToPath(new URL('../../../egress-proxy/src/main.ts', import.meta.url));
const credentials = 'rms:p@ss';
const zone = { ...hostileZone, 'hooks.example': { a: ['127.0.0.1'] }, 'other.example': { a: ['127.0.0.1'] } };

describe('calls through an egress proxy', () => {
  let ca: string;
  let dns: DnsServer;
  let trap: Trap;
  let proxy: Program;
  let proxyPort: number;
  let metricsPort: number;
  let endpoint: LoopbackServer;
  let port: number;
  /** Per connection to the endpoint: the common name of the client certificate, if any. */
  const connections: (string | undefined)[] = [];
  const pemOf = ({ certFile, keyFile }: { certFile: string; keyFile: string }) => ({
    cert: readFileSync(certFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
  });
  afterAll(async () => {
    await proxy?.terminate();
    await endpoint?.close();
    await trap?.close();
    await dns?.close();
    rmSync(folder, { recursive: true });
  });
  const certificates = perSuite(() => makeCertificates(join(folder, 'ca')));
  beforeAll(async () => {
    ca = readFileSync(certificates.caFile, 'utf8');
    [dns, trap] = [await startDnsServer(zone), await startTrap()];
    const options = { ...pemOf(certificates.issue('hooks.example')), ca, requestCert: true, rejectUnauthorized: false };
    const server = createServer(options, (request, response) => void request.resume().on('end', () => response.end()));
    server.on('secureConnection', (socket: TLSSocket) => {
      connections.push(socket.getPeerCertificate().subject?.CN as string | undefined);
    });
    endpoint = await listenOnLoopback(server);
    port = endpoint.port;
    [proxyPort, metricsPort] = [await freePort(), await freePort()];
    proxy = await startProxy(proxyPort, {
      EGRESS_PROXY_CREDENTIALS: credentials,
      METRICS_ADDRESS: `127.0.0.1:${metricsPort}`,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32',
    });
  });

  const startProxy = (at: number, env: Record<string, string>) =>
    startProgram({
      name: 'the egress proxy',
      command: process.execPath,
      args: [main],
      env: { EGRESS_PROXY_PORT: `${at}`, WEBHOOK_DNS_SERVERS: dns.address, ...env },
      outputFile: join(folder, `proxy-${at}.log`),
      ready: (output) => output.includes('"serving"'),
    });
  const through = (
    url = `http://${encodeURIComponent('rms')}:${encodeURIComponent('p@ss')}@127.0.0.1:${proxyPort}`,
  ) => ({
    allowHttp: true,
    allowCidrs: [],
    proxy: () => parseProxy(url),
    // Unreachable, because the proxy resolves the names.
    dnsServers: ['127.0.0.1:9'],
  });
  const attempt = async (url: string, config: EgressConfig, trusted: string | undefined = ca) => {
    const agent = createGuardedAgent({ egress: createEgress(config), ...(trusted ? { ca: () => trusted } : {}) });
    const { error, address } = await soleAttemptAt(url, agent);
    return { error, address };
  };

  describe('of the engine', () => {
    const rms = perSuite(() => startWebhooks({ egress: { ...through(), ca: () => ca } }));
    const subscribe = async (tenant: Tenant, url: string, maxRetries = 0) =>
      (await rms.subscribe(tenant, url, { retryPolicy: retries(maxRetries, 50) })).id;

    test('arrive; TLS is end-to-end, and a reused connection has no connect time', async () => {
      const tenant = newTenant();
      await subscribe(tenant, `https://hooks.example:${port}/`);
      const before = connections.length;
      await rms.publish(newEvent(tenant));
      const [first] = await rms.settled(tenant, 1);
      await rms.publish(newEvent(tenant));
      const [second] = await rms.settled(tenant, 2);
      const [one, two] = [first?.attempts[0], second?.attempts[0]];
      expect([one, two]).toMatchObject([
        { statusCode: 200, address: '127.0.0.1' },
        { statusCode: 200, address: '127.0.0.1' },
      ]);
      expect(connections.slice(before)).toEqual([undefined]);
      expect([one?.dnsMs, (one?.connectMs ?? 0) > 0, (one?.tlsMs ?? 0) > 0]).toEqual([0, true, true]);
      expect([two?.dnsMs, two?.connectMs, two?.tlsMs]).toEqual([0, 0, 0]);
    });

    test('present the certificate of the webhook to the endpoint', async () => {
      const tenant = newTenant();
      const id = await subscribe(tenant, `https://hooks.example:${port}/`);
      const { cert: certificate, key: privateKey } = pemOf(certificates.issue('wh_mine'));
      await rms.webhooks.updateWebhook({ ...tenant, id, clientCertificate: { certificate, privateKey } });
      await rms.publish(newEvent(tenant));
      expect(await rms.settled(tenant, 1)).toMatchObject([{ status: DeliveryStatus.DELIVERED }]);
      expect(connections.at(-1)).toBe('wh_mine');
    });

    test('are retried while the proxy is down, and arrive after it is restarted', async () => {
      const tenant = newTenant();
      await proxy.kill();
      await subscribe(tenant, `https://hooks.example:${port}/`, 50);
      await rms.publish(newEvent(tenant));
      const failed = await waitUntil(
        async () => (await rms.list(tenant)).find(({ attempts }) => attempts.length > 0)?.attempts,
        { what: 'an attempt' },
      );
      expect(failed[0]).toMatchObject({ statusCode: 0, error: 'proxy: ECONNREFUSED', address: '' });
      await proxy.restart();
      expect(await rms.settled(tenant, 1)).toMatchObject([{ status: DeliveryStatus.DELIVERED }]);
    });
  });

  describe('by a proxy that may call only public addresses', () => {
    let strict: Program;
    let rms: Webhooks;
    beforeAll(async () => {
      const at = await freePort();
      strict = await startProxy(at, {});
      rms = await startWebhooks({ egress: { ...through(`http://127.0.0.1:${at}`), allowHttp: false } });
    });
    afterAll(async () => {
      await rms?.stop();
      await strict?.terminate();
    });

    test('reach no hostile target: the engine rejects hostile URLs, the proxy rejects hostile DNS results', async () => {
      const tenant = newTenant();
      const targets = hostileTargets(trap.port);
      const ids = new Map<string, string>();
      for (const { url, shownBy } of targets) {
        const request = { ...tenant, url: shownBy === 'url' ? 'https://hooks.example/' : url, events: ['*'] };
        const { webhook } = await rms.webhooks.createWebhook(request);
        ids.set(webhook?.id ?? '', url);
        await rms.database.pool.query('update webhooks.webhooks set url = $2, max_retries = 0 where id = $1', [
          webhook?.id,
          url,
        ]);
      }
      // Makes every name resolve to its hostile address.
      dns.turnToLast();
      await rms.publish(newEvent(tenant));
      const log = await rms.settled(tenant, targets.length);
      const unclear = log
        .filter(({ attempts }) => attempts.length !== 1 || !attempts[0]?.error.startsWith('blocked: '))
        .map(({ webhookId, attempts }) => [ids.get(webhookId), attempts.map(({ error }) => error)]);
      expect({ unclear, reachedAt: trap.reachedAt }).toEqual({ unclear: [], reachedAt: [] });
      const byProxy = log.filter(({ attempts }) => attempts[0]?.error.includes('the egress proxy rejected'));
      expect(byProxy).toHaveLength(targets.filter(({ shownBy }) => shownBy !== 'url').length);
      expect(strict.output()).toContain('"addresses":["169.254.169.254"]');
    });
  });

  test('the client, not the proxy, verifies the certificates of endpoints', async () => {
    const [expired, self] = [
      await listenOnLoopback(createServer(pemOf(certificates.issue('expired', { sans: ['hooks.example'], days: -1 })))),
      await listenOnLoopback(createServer(pemOf(makeCertificates(join(folder, 'others')).issue('hooks.example')))),
    ];
    const errorOf = async (host: string, to: number) => (await attempt(`https://${host}:${to}/`, through())).error;
    expect(await errorOf('hooks.example', port)).toBe('');
    expect(await errorOf('other.example', port)).toMatch(/^tls: ERR_TLS_CERT_ALTNAME_INVALID after /);
    expect(await errorOf('hooks.example', expired.port)).toMatch(/^tls: CERT_HAS_EXPIRED after /);
    expect(await errorOf('hooks.example', self.port)).toMatch(/^tls: UNABLE_TO_VERIFY_LEAF_SIGNATURE after /);
    await expired.close();
    await self.close();
  });

  test('plain http is also tunneled with CONNECT', async () => {
    const plain = await listenOnLoopback(
      createHttpServer((request, response) => void request.resume().on('end', () => response.end())),
    );
    expect(await attempt(`http://hooks.example:${plain.port}/`, through())).toEqual({
      error: '',
      address: '127.0.0.1',
    });
    await plain.close();
  });

  test('connection failures reported by the proxy have the same error class as without a proxy', async () => {
    const errorOf = async (url: string) => (await attempt(url, through())).error;
    expect(await errorOf('https://nowhere.example/')).toMatch(/^dns: the name does not resolve \(/);
    expect(await errorOf(`https://hooks.example:${await freePort()}/`)).toMatch(/^connect: ECONNREFUSED after /);
    const wrong = `http://rms:wrong@127.0.0.1:${proxyPort}`;
    expect(await attempt('https://hooks.example/', through(wrong))).toEqual({
      error: 'proxy: credentials rejected (407)',
      address: undefined,
    });
    expect(proxy.output()).not.toMatch(/p@ss|wrong/);
  });

  test('loopback and destinations in WEBHOOK_NO_PROXY are called directly', async () => {
    const direct = { ...through('http://127.0.0.1:9'), allowCidrs: ['127.0.0.0/8'], dnsServers: [dns.address] };
    expect((await attempt(`https://hooks.example:${port}/`, direct)).error).toMatch(/^proxy: /);
    expect(await attempt(`https://hooks.example:${port}/`, { ...direct, noProxy: ['.example'] })).toEqual({
      error: '',
      address: '127.0.0.1',
    });
    expect(await attempt(`https://127.0.0.1:${port}/`, direct)).toEqual({ error: '', address: '127.0.0.1' });
  });

  test('metrics report how often the proxy connected and rejected', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toMatch(/rms_egress_connects_total{result="connected",service="egress-proxy"} [1-9]/);
    expect(metrics).toMatch(/rms_egress_connects_total{result="unauthorized",service="egress-proxy"} [1-9]/);
  });

  describe('of another vendor', () => {
    const servers: LoopbackServer[] = [];
    afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));
    /** Starts a proxy that responds to every CONNECT with `response`. */
    const respondingWith = async (response: string) => {
      const server = createHttpServer();
      server.on('connect', (_, socket) => void socket.on('error', () => {}).end(response));
      const listening = await listenOnLoopback(server);
      servers.push(listening);
      return through(`http://127.0.0.1:${listening.port}`);
    };
    const target = 'https://hooks.example:8443/';

    const refused = 'blocked: the egress proxy rejected hooks.example:8443';
    const denied = 'X-Smokescreen-Error: denied: 10.0.0.1\r\nContent-Length: 3\r\n\r\nno\n';
    test.each([
      ['a refusal', 'HTTP/1.1 403 Forbidden\r\n\r\n', refused],
      ['a refusal of Smokescreen', `HTTP/1.1 407 Request rejected by proxy\r\n${denied}`, refused],
      ['missing credentials', 'HTTP/1.1 407 Unauthorized\r\n\r\n', 'proxy: credentials rejected (407)'],
      ['a failure', 'HTTP/1.1 502 Bad Gateway\r\n\r\n', 'proxy: responded with 502'],
      [
        'a failure of DNS',
        'HTTP/1.1 502 Bad Gateway\r\nProxy-Status: x; error=dns_timeout\r\n\r\n',
        /^dns: the egress proxy got no response after /,
      ],
      [
        'a timeout',
        'HTTP/1.1 504 Timeout\r\nProxy-Status: x; error=connection_timeout\r\n\r\n',
        /^connect: timed out after /,
      ],
      ['a redirect', 'HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/\r\n\r\n', 'proxy: responded with 301'],
      ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(10_000)}\r\n\r\n`, 'proxy: HPE_HEADER_OVERFLOW'],
      ['invalid HTTP', 'SSH-2.0-nonsense\r\n\r\n', 'proxy: HPE_INVALID_CONSTANT'],
      ['nothing', '', 'proxy: ECONNRESET'],
    ])('%s has a clear error', async (_, response, error) => {
      const expected = typeof error === 'string' ? error : expect.stringMatching(error);
      expect(await attempt(target, await respondingWith(response))).toEqual({ error: expected, address: undefined });
    });

    test('may be called over TLS, and its certificate is verified', async () => {
      const pem = pemOf(certificates.issue('proxy'));
      const server = createTlsServer({ ...pem, allowHalfOpen: true }, (socket) => forward(socket, port));
      const listening = await listenOnLoopback(server);
      servers.push(listening);
      const config = through(`https://localhost:${listening.port}`);
      expect(await attempt('https://hooks.example/', config)).toEqual({ error: '', address: undefined });
      const others = readFileSync(join(folder, 'others', 'ca.pem'), 'utf8');
      expect((await attempt('https://hooks.example/', config, others)).error).toMatch(/^proxy: UNABLE_TO/);
    });
  });
});

/** A minimal proxy: connects every request to the given loopback port and reports no address. */
function forward(socket: Socket, port: number): void {
  socket.on('error', () => {});
  socket.once('data', () => {
    const endpoint = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(endpoint).pipe(socket);
    });
    endpoint.on('error', () => socket.destroy());
  });
}
