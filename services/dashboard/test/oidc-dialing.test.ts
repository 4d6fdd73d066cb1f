import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testSlowNames } from '@rms/testkit';
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
