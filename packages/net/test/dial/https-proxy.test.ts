import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { readSettings } from '@rms/runtime/settings';
import {
  type ConnectProxy,
  type LoopbackServer,
  listenOnLoopback,
  makeCertificates,
  startConnectProxy,
  suiteFolder,
} from '@rms/testkit';
import { connect, followHttpsProxy, parseProxy } from '../../src/dial/index.ts';

const log = { info() {}, error() {} };
const proxyUrl = 'http://proxy.example:3128';

describe('the proxy of calls that leave the network', () => {
  test.each<[NodeJS.ProcessEnv, string, boolean]>([
    [{}, 'https://outside.example/', false],
    [{ HTTPS_PROXY: proxyUrl }, 'https://outside.example/', true],
    [{ https_proxy: proxyUrl }, 'https://outside.example/', true],
    [{ HTTPS_PROXY: proxyUrl }, 'http://outside.example/', false],
    [{ HTTP_PROXY: proxyUrl, http_proxy: proxyUrl }, 'http://outside.example/', false],
    [{ HTTPS_PROXY: proxyUrl, NO_PROXY: 'a.example, .inside.example' }, 'https://login.inside.example/', false],
    [{ HTTPS_PROXY: proxyUrl, no_proxy: '10.0.0.0/8' }, 'https://10.1.2.3/', false],
    [{ HTTPS_PROXY: proxyUrl }, 'https://localhost:8443/', false],
  ])('with %j, %s uses it: %s', (env, url, isUsed) => {
    const settings = readSettings(env, ['HTTPS_PROXY', 'NO_PROXY']);
    expect(followHttpsProxy(settings)(log)(new URL(url))).toEqual(isUsed ? parseProxy(proxyUrl) : undefined);
  });

  test('an invalid one is named, without its password', () => {
    const read = () => followHttpsProxy(readSettings({ HTTPS_PROXY: 'socks5://rms:secret@proxy' }));
    expect(read).toThrow(/^HTTPS_PROXY: must be a URL/);
    expect(read).not.toThrow(/secret/);
  });
});

describe('a connection through a proxy', () => {
  const folder = suiteFolder('https-proxy');
  let ca: string;
  let server: LoopbackServer;
  let proxy: ConnectProxy;
  beforeAll(async () => {
    const certificates = makeCertificates(folder);
    ca = readFileSync(certificates.caFile, 'utf8');
    const { certFile, keyFile } = certificates.issue('outside.example');
    const options = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    server = await listenOnLoopback(createTlsServer(options, (socket) => void socket.end('hello')));
    proxy = await startConnectProxy(() => server.port);
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.close();
  });

  test('reaches a server whose name only the proxy resolves; TLS is end-to-end', async () => {
    const to = { host: 'outside.example', port: 443, timeoutMs: 5_000, proxy: parseProxy(proxy.url) };
    const socket = await connect({ ...to, tls: { ca } });
    expect(Buffer.concat(await socket.toArray()).toString()).toBe('hello');
    expect(proxy.requests).toEqual(['outside.example:443']);
    await expect(connect({ ...to, tls: {} })).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  });

  test('reports a proxy that refuses, and one that is down', async () => {
    const refusing = await listenOnLoopback(
      createHttpServer().on('connect', (_request, socket) => {
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
      }),
    );
    const through = (port: number) =>
      connect({ host: 'outside.example', port: 443, timeoutMs: 5_000, proxy: parseProxy(`http://127.0.0.1:${port}`) });
    await expect(through(refusing.port)).rejects.toThrow('credentials rejected (407)');
    await refusing.close();
    await expect(through(refusing.port)).rejects.toThrow('ECONNREFUSED');
  });
});
