import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followHttpsProxy } from '@rms/net/dial';
import { readSettings } from '@rms/runtime/settings';
import { listenOnLoopback, makeCertificates, startConnectProxy, testSlowNames } from '@rms/testkit';
import { createProviderFetch } from '../src/oidc/provider-fetch.ts';

const fetchFromProvider = createProviderFetch();

describe('requests reach an OpenID Connect provider', () => {
  testSlowNames(async () => {
    const server = createServer((request, response) => response.end(request.headers.host)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      port: (server.address() as AddressInfo).port,
      reach: async (host, port) => {
        const options = { body: undefined, headers: {}, method: 'GET', redirect: 'manual' as const };
        const response = await fetchFromProvider(`http://${host}:${port}/`, options);
        expect(await response.text()).toBe(`${host}:${port}`);
      },
      stop: () => server.close(),
    };
  });

  test('through HTTPS_PROXY, with TLS that OIDC_CA_FILE verifies', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-oidc-proxy-'));
    const certificates = makeCertificates(folder);
    const { certFile, keyFile } = certificates.issue('provider.example');
    const options = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const server = await listenOnLoopback(createTlsServer(options, (_request, response) => response.end('ok')));
    const proxy = await startConnectProxy(() => server.port);
    const proxyFor = followHttpsProxy(readSettings({ https_proxy: proxy.url }, ['HTTPS_PROXY', 'NO_PROXY']));
    const ca = readFileSync(certificates.caFile, 'utf8');
    const fetchThrough = createProviderFetch(() => ca, proxyFor({ info() {}, error() {} }));
    const request = { body: undefined, headers: {}, method: 'GET', redirect: 'manual' as const };
    expect(await (await fetchThrough('https://provider.example/keys', request)).text()).toBe('ok');
    expect(proxy.requests).toEqual(['provider.example:443']);
    await proxy.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test('each over its own connection, so that none is sent over one that the provider is closing', async () => {
    let connections = 0;
    const server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1');
    server.on('connection', () => {
      connections += 1;
    });
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const options = { body: undefined, headers: {}, method: 'GET', redirect: 'manual' as const };
    for (let n = 0; n < 3; n += 1) await (await fetchFromProvider(url, options)).text();
    expect(connections).toBe(3);
    server.close();
  });
});
