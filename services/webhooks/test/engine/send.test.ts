import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { makeSecret, toSigningSecret } from '@rms/base/signature';
import { createEgress, createGuardedAgent } from '@rms/net/guarded-http';
import {
  type LoopbackServer,
  listenOnLoopback,
  makeCertificates,
  perTest,
  type Receiver,
  startReceiver,
  suiteFolder,
} from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import { send } from '../../src/engine/attempt.ts';
import { endpointAt } from '../attempt-at.ts';

const secret = makeSecret();
const secrets = { current: toSigningSecret(secret), previous: undefined, headers: {} };
const timedOut = /^timeout: no complete response within 10 s \(response: \d+\.\d s\)$/;
const body = Buffer.from('{"name":"Grüße, 世界 🌍","n":1.0}');
const names: Record<string, string[]> = { 'hooks.example': ['127.0.0.1'], 'other.example': ['127.0.0.1'] };

function agentWith(ca?: string) {
  return createGuardedAgent({
    egress: {
      ...createEgress({ allowHttp: true, allowCidrs: ['127.0.0.0/8'] }),
      resolve: (name) => [Promise.resolve(names[name] ?? [])],
    },
    ...(ca ? { ca: () => ca } : {}),
  });
}

function outgoing(url: string) {
  return {
    endpoint: endpointAt(url),
    eventId: 'evt_1',
    requestId: 'req-12345678',
    traceparent: '',
    workspaceId: 'ws_1',
    body,
  };
}

describe('an attempt', () => {
  const agent = agentWith();
  const attempt = (url = receiver.url) => send(agent, secrets, outgoing(url));
  const receiver = perTest(startReceiver);
  afterAll(() => agent.destroy());

  test('is a JSON POST of the exact body, and a Standard Webhooks verifier accepts it', async () => {
    expect(await attempt()).toMatchObject({ statusCode: 200, error: '' });
    const [request] = receiver.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/hook', body });
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(body.length),
      'x-request-id': 'req-12345678',
      accept: '*/*',
      'user-agent': 'rms-webhooks/0.1',
    });
    const headers = request?.headers as Record<string, string>;
    expect(new Webhook(secret).verify(body.toString('utf8'), headers)).toMatchObject({ n: 1 });
  });

  test('fails if the receiver does not respond completely within 10 seconds', async () => {
    const timers: NodeJS.Timeout[] = [];
    // No response, only a head, one byte of body per second, and an endless status line.
    const ways: Parameters<Receiver['respondWith']>[0][] = [
      () => {},
      (_, response) => void response.writeHead(200).flushHeaders(),
      (_, response) => void timers.push(setInterval(() => response.write('.'), 1_000)),
      (_, { socket }) => void timers.push(setInterval(() => socket?.write('H'), 1_000)),
    ];
    const slow = await Promise.all(ways.map(() => startReceiver()));
    for (const [i, way] of ways.entries()) slow[i]?.respondWith(way);
    const responses = await Promise.all(slow.map(({ url }) => attempt(url)));
    for (const timer of timers) clearInterval(timer);
    for (const one of slow) await one.close();
    // Invalid HTTP fails at the first byte.
    const nonsense = responses.pop();
    expect(nonsense).toMatchObject({ statusCode: 0, error: expect.stringMatching(/^(?:connection|timeout): /) });
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([0, 200, 200]);
    for (const response of responses) expect(response).toMatchObject({ error: expect.stringMatching(timedOut) });
  });

  test('reads Retry-After only for status 429 and 503', async () => {
    const requested = async (status: number) => {
      receiver.respondWith((_, response) => void response.writeHead(status, { 'retry-after': '7' }).end());
      return (await attempt()).retryAfterMs;
    };
    expect([await requested(429), await requested(503), await requested(500)]).toEqual([7_000, 7_000, undefined]);
  });

  test('keeps the first 16 KiB of a response and does not read a long one completely', async () => {
    receiver.respondWith((_, response) => void response.writeHead(500).end('x'.repeat(20_000)));
    expect((await attempt()).responseBody).toEqual(Buffer.from('x'.repeat(16_384)));
    let sent = 0;
    receiver.respondWith((_, response) => {
      response.writeHead(200, { 'content-length': String(100 * 1024 * 1024) });
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'y'))) sent += 65_536;
        if (!response.destroyed) response.once('drain', pour);
      };
      pour();
    });
    const response = await attempt();
    expect(response).toMatchObject({ statusCode: 200, error: '' });
    expect(response.responseBody).toHaveLength(16_384);
    expect(sent).toBeLessThan(100 * 1024 * 1024);
  });

  test('fails if the connection breaks or the response is not HTTP', async () => {
    receiver.respondWith((_, response) => void response.destroy());
    expect(await attempt()).toMatchObject({
      statusCode: 0,
      error: expect.stringMatching(/^connection: UND_ERR_SOCKET \(response: \d+ ms\)$/),
    });
    receiver.respondWith((_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => response.destroy());
    });
    expect(await attempt()).toMatchObject({
      statusCode: 200,
      error: expect.stringMatching(/^connection: UND_ERR_SOCKET \(response: \d+ ms\)$/),
    });
    const nonsense = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.end('SSH-2.0-nonsense\r\n');
    });
    const { port, close } = await listenOnLoopback(nonsense);
    const response = await attempt(`http://127.0.0.1:${port}/`);
    await close();
    expect(response).toMatchObject({
      statusCode: 0,
      error: expect.stringMatching(/^connection: Response does not match/),
    });
  });

  test('fails for a forbidden address or an unknown name', async () => {
    expect(await attempt('http://10.0.0.1/')).toMatchObject({
      statusCode: 0,
      error: expect.stringMatching(/^blocked: /),
    });
    expect(await attempt('http://nowhere.example/')).toMatchObject({
      error: expect.stringMatching(/^dns: the name does not resolve \(\d+ ms\)$/),
    });
  });
});

describe('TLS', () => {
  const folder = suiteFolder('tls');
  let server: LoopbackServer;
  let port = 0;
  let key = '';
  let cert = '';
  /** Certificate of the authority. */
  let certificate = '';
  beforeAll(async () => {
    const authority = makeCertificates(folder);
    const { certFile, keyFile } = authority.issue('hooks.example', { sans: ['hooks.example'] });
    certificate = readFileSync(authority.caFile, 'utf8');
    [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')];
    server = await listenOnLoopback(createServer({ key, cert }, (_, response) => void response.end()));
    port = server.port;
  });
  afterAll(() => server?.close());
  const attempt = async (host: string, ca?: string, to = port) => {
    const agent = agentWith(ca);
    const response = await send(agent, secrets, outgoing(`https://${host}:${to}/`));
    await agent.destroy();
    return response;
  };

  test('a certificate of a trusted authority for the host name is accepted', async () => {
    expect(await attempt('hooks.example', certificate)).toMatchObject({ statusCode: 200, error: '' });
  });

  test('a self-signed certificate of an authority is rejected', async () => {
    const selfSigned = { key: readFileSync(join(folder, 'ca.key')), cert: certificate };
    const endpoint = await listenOnLoopback(createServer(selfSigned, (_, response) => void response.end()));
    const response = await attempt('hooks.example', undefined, endpoint.port);
    expect(response).toMatchObject({
      statusCode: 0,
      error: expect.stringMatching(/^tls: INVALID_PURPOSE after \d+ ms$/),
    });
    await endpoint.close();
  });

  test('a server without TLS or with only an old version is a TLS failure', async () => {
    const plain = await startReceiver();
    // OpenSSL supports these versions only at its lowest security level.
    const oldest = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const old = await listenOnLoopback(createServer({ key, cert, ...oldest }));
    for (const badPort of [plain.port, old.port]) {
      const response = await attempt('hooks.example', certificate, badPort);
      expect(response).toMatchObject({ statusCode: 0, error: expect.stringMatching(/^tls: ERR_SSL_/) });
    }
    await old.close();
    await plain.close();
  });

  test('an expired certificate and a certificate of an unknown authority are rejected', async () => {
    const authority = makeCertificates(join(folder, 'authority'));
    const errorWith = async (files: { certFile: string; keyFile: string }, ca?: string) => {
      const [key, cert] = [readFileSync(files.keyFile), readFileSync(files.certFile)];
      const endpoint = await listenOnLoopback(createServer({ key, cert }, (_, response) => void response.end()));
      const { error } = await attempt('hooks.example', ca, endpoint.port);
      await endpoint.close();
      return error;
    };
    const trusted = readFileSync(authority.caFile, 'utf8');
    const valid = authority.issue('hooks.example');
    expect(await errorWith(valid, trusted)).toBe('');
    expect(await errorWith(valid)).toMatch(/^tls: UNABLE_TO_VERIFY_LEAF_SIGNATURE after /);
    expect(await errorWith(authority.issue('hooks.example', { days: -1 }), trusted)).toMatch(
      /^tls: CERT_HAS_EXPIRED after /,
    );
  });

  test('a certificate for another name is rejected', async () => {
    const response = await attempt('other.example', certificate);
    expect(response).toMatchObject({
      statusCode: 0,
      error: expect.stringMatching(/^tls: ERR_TLS_CERT_ALTNAME_INVALID after /),
    });
  });
});
