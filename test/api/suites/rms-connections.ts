import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { listenOnLoopback, makeCertificates, startConnectProxy } from '@rms/testkit';
import type { RmsScene } from '../support/rms-scene.ts';

/** Errors, stored keys, TLS and proxies. */
export function rmsConnectionsSuite(scene: RmsScene): void {
  const { folder, newKey, run, start } = scene;

  test('a key without the scope is refused with one line that names it', async () => {
    const { key: reading } = await newKey('read');
    const refused = await run(['webhooks', 'list'], { RMS_API_KEY: reading });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^rms: .*admin.*\(403 insufficient_scope, request req_\w+\)\n$/);
  });

  test('usage errors exit with 2, failures with one line and 1', async () => {
    expect(await run(['resources', 'create'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("required option '--name' not specified"),
    });
    expect(await run(['resources', 'list'], { RMS_API_KEY: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('needs an API key'),
    });
    const dead = 'http://127.0.0.1:1';
    expect(await run(['resources', 'list', '--url', dead])).toEqual({
      code: 1,
      stdout: '',
      stderr: `rms: ${dead}: connection refused\n`,
    });
    expect(await run(['--url', scene.service.dashboardUrl, 'resources', 'list'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^rms: http:\S+: the response has status \d+ and is not of the API\.\n$/),
    });
    expect(await run(['resources', 'list', '--url', 'ftp://x'])).toMatchObject({ code: 1 });
  });

  test('login stores a key that only the user can read, and later commands use it', async () => {
    const without = { RMS_URL: '', RMS_API_KEY: '' };
    const url = `${scene.service.sandboxUrl}/v1/`;
    const login = ['login', '--url', url, '--profile', 'team'];
    expect(await run([...login, '--api-key', 'sk_test_000000000000000000000000000000000000'], without)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('401 invalid_api_key'),
    });
    expect(await run(['resources', 'list', '--profile', 'team'], without)).toMatchObject({
      code: 1,
      stderr: 'rms: There is no profile "team"; rms login --profile team creates it.\n',
    });
    expect((await run([...login, '--api-key', scene.key], without)).code).toBe(0);
    const file = join(folder, 'rms', 'profiles.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      team: { url: scene.service.sandboxUrl, api_key: scene.key },
    });
    expect((await run(['workspace'], { ...without, RMS_PROFILE: 'team' })).stdout).toContain('sandbox');
    expect((await run(['logout', '--profile', 'team'], without)).code).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({});
  });

  /** Starts a TLS server for a name that passes requests below /prefix on to the API. */
  const startTlsProxy = (name: string) => {
    const certificates = makeCertificates(join(folder, `ca-${name}`));
    const { certFile, keyFile } = certificates.issue(name);
    const proxy = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (incoming, answer) => {
      const path = (incoming.url ?? '').replace(/^\/prefix\b/, '');
      if (path === incoming.url) return answer.writeHead(404).end();
      const { host: _, ...headers } = incoming.headers;
      const outgoing = request(scene.service.sandboxUrl + path, { method: incoming.method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      incoming.pipe(outgoing);
    });
    return listenOnLoopback(proxy).then((listening) => ({ ...listening, caFile: certificates.caFile }));
  };

  test('an API behind TLS and a path prefix is called with both', async () => {
    const { port, close, caFile } = await startTlsProxy('api.test');
    try {
      const rms = start(['resources', 'list', '--sort', 'name', '--limit', '102'], {
        RMS_URL: `https://127.0.0.1:${port}/prefix/`,
        NODE_EXTRA_CA_CERTS: caFile,
      });
      expect(await rms.ended()).toBe(0);
      expect(rms.output()).toContain('Page 101');
      const untrusted = start(['resources', 'list'], { RMS_URL: `https://127.0.0.1:${port}/prefix` });
      expect(await untrusted.ended()).toBe(1);
      expect(untrusted.output()).toMatch(/^rms: https:\S+: .*certificate.*\n$/);
    } finally {
      await close();
    }
  });

  test('an API that only an HTTP proxy reaches is called through the proxy, which resolves the name', async () => {
    const tls = await startTlsProxy('api.example');
    const apiPort = Number(new URL(scene.service.sandboxUrl).port);
    const proxy = await startConnectProxy((authority) => (authority.endsWith(':443') ? tls.port : apiPort));
    const list = ['resources', 'list', '--limit', '1'];
    const url = 'https://api.example/prefix';
    try {
      const secure = start(list, { RMS_URL: url, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: tls.caFile });
      expect([await secure.ended(), secure.output()]).toEqual([0, expect.stringMatching(/^ID +NAME/)]);
      const plain = await run(list, { RMS_URL: 'http://api.example', HTTP_PROXY: proxy.url });
      expect(plain.stdout).toMatch(/^ID +NAME/);
      expect(proxy.requests).toEqual(['api.example:443', 'api.example:80']);
      // Loopback and hosts of NO_PROXY are called directly.
      expect(await run(list, { HTTP_PROXY: proxy.url })).toMatchObject({ code: 0 });
      const exempt = { RMS_URL: 'http://api.invalid', HTTP_PROXY: proxy.url, NO_PROXY: 'api.invalid' };
      expect(await run(list, exempt)).toEqual({
        code: 1,
        stdout: '',
        stderr: 'rms: http://api.invalid: the name does not resolve\n',
      });
      expect(proxy.requests).toHaveLength(2);
      expect(await run(list, { RMS_URL: url, HTTPS_PROXY: 'http://127.0.0.1:1' })).toEqual({
        code: 1,
        stdout: '',
        stderr: `rms: ${url}: the HTTP proxy failed: ECONNREFUSED\n`,
      });
    } finally {
      await proxy.close();
      await tls.close();
    }
  });
}
