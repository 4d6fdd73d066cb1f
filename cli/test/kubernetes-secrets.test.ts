import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates } from '@rms/testkit';
import { apiServerOfPod, createSecretStore, type SecretStore, WrittenMeanwhile } from '../src/certificates/secrets.ts';

describe('Kubernetes Secrets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-secrets-'));
  const received: { method: string; url: string; token: string; body: unknown }[] = [];
  let reply: { status: number; body: object } = { status: 200, body: {} };
  let server: ReturnType<typeof createServer>;
  let store: SecretStore;

  beforeAll(async () => {
    const { caFile, issue } = makeCertificates(folder);
    const { certFile, keyFile } = issue('kubernetes');
    server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, async (request, response) => {
      const { method = '', url = '', headers } = request;
      const text = await textOf(request);
      received.push({
        method,
        url,
        token: headers.authorization ?? '',
        body: text === '' ? undefined : JSON.parse(text),
      });
      response.writeHead(reply.status).end(JSON.stringify(reply.body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const account = join(folder, 'account');
    mkdirSync(account);
    writeFileSync(join(account, 'ca.crt'), readFileSync(caFile));
    writeFileSync(join(account, 'token'), 'the-token\n');
    writeFileSync(join(account, 'namespace'), 'rms');
    const { port } = server.address() as AddressInfo;
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) };
    store = createSecretStore(apiServerOfPod(env, account));
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    received.length = 0;
  });

  test('are read and decoded with their version; a missing Secret is undefined', async () => {
    reply = { status: 200, body: { metadata: { resourceVersion: '12' }, data: { 'tls.crt': btoa('pem') } } };
    expect(await store.read('a')).toEqual({ name: 'a', data: { 'tls.crt': 'pem' }, version: '12' });
    reply = { status: 404, body: { message: 'secrets "a" not found' } };
    expect(await store.read('a')).toBeUndefined();
    expect(received[0]).toEqual({
      ...{ method: 'GET', url: '/api/v1/namespaces/rms/secrets/a', token: 'Bearer the-token', body: undefined },
    });
  });

  test('are created, or replaced at the version that was read', async () => {
    reply = { status: 201, body: {} };
    await store.write({ name: 'a', data: { x: '1' } }, { app: 'rms' });
    await store.write({ name: 'a', data: { x: '2' }, version: '12' }, { app: 'rms' });
    expect(received.map(({ method, url }) => [method, url])).toEqual([
      ['POST', '/api/v1/namespaces/rms/secrets'],
      ['PUT', '/api/v1/namespaces/rms/secrets/a'],
    ]);
    expect(received[1]?.body).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'a', labels: { app: 'rms' }, resourceVersion: '12' },
      type: 'Opaque',
      stringData: { x: '2' },
    });
    reply = { status: 409, body: { message: 'the object has been modified' } };
    await expect(store.write({ name: 'a', data: {}, version: '12' }, {})).rejects.toBeInstanceOf(WrittenMeanwhile);
  });

  test('are deleted; an error contains the message of the API and no secret', async () => {
    reply = { status: 200, body: {} };
    expect(await store.remove('a')).toBe(true);
    reply = { status: 404, body: {} };
    expect(await store.remove('a')).toBe(false);
    reply = { status: 403, body: { message: 'secrets "a" is forbidden' } };
    const refused = store.write({ name: 'a', data: { 'tls.key': 'PRIVATE' } }, {});
    await expect(refused).rejects.toThrow(/^Secret a cannot be written: 403 secrets "a" is forbidden$/);
  });

  test('outside a pod there is no API server', () => {
    expect(() => apiServerOfPod({}, folder)).toThrow('runs only in a Kubernetes pod');
    const env = { KUBERNETES_SERVICE_HOST: 'x', KUBERNETES_SERVICE_PORT: '1' };
    expect(() => apiServerOfPod(env, '/nowhere')).toThrow('no service account token (ENOENT)');
  });
});

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}
