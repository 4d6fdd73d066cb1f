import { once } from 'node:events';
import { connect } from 'node:net';

/** Inputs of requests that contain a secret in a wrong place. */
export interface Leaky {
  readonly url: string;
  /** A valid key. */
  readonly key: string;
  /** Another secret, which the requests contain in wrong places. */
  readonly secret: string;
}

/** Sends requests with a secret where none belongs. All of them must fail; returns the error responses. */
export async function sendLeaky({ url, key, secret }: Leaky): Promise<string[]> {
  const bearer = { authorization: `Bearer ${key}` };
  const json = { ...bearer, 'content-type': 'application/json' };
  const post = (body: unknown, headers: Record<string, string> = json, path = '/v1/resources') =>
    ask(`${url}${path}`, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  const get = (path: string, headers: Record<string, string> = {}) => ask(`${url}${path}`, { headers });
  return Promise.all([
    get(`/v1/resources/${secret}`),
    get(`/v1/resources/${secret}`, bearer),
    get(`/v1/webhooks/${secret}`, bearer),
    get(`/${secret}`, bearer),
    get(`/v1/${secret}/resources`, bearer),
    get(`/v1/resources?api_key=${secret}`),
    get(`/v1/resources?api_key=${secret}`, bearer),
    get(`/v1/resources?sort=${secret}`, bearer),
    get(`/v1/resources?status=${secret}`, bearer),
    get(`/v1/resources?per_page=${secret}`, bearer),
    get(`/v1/resources?cursor=${secret}`, bearer),
    get('/v1/resources', { 'x-api-key': secret }),
    get('/v1/resources', { cookie: `key=${secret}` }),
    ...['', 'Basic ', 'Token ', 'bearer,', 'Key ', 'Bearer Bearer ', 'Digest username='].map((scheme) =>
      get('/v1/resources', { authorization: `${scheme}${secret}` }),
    ),
    get('/v1/resources', { authorization: `Basic ${Buffer.from(`${secret}:`).toString('base64')}` }),
    get('/v1/resources', { authorization: `Bearer ${secret.slice(0, -1)}` }),
    post({ name: 'x', key: secret }),
    post({ name: 'x', api_key: { nested: secret } }),
    post({ name: 'x', type: secret }),
    post({ name: 'x', metadata: secret }),
    post({ name: 'x'.repeat(300), metadata: { key: secret } }),
    post({ api_key: secret }, { 'content-type': 'application/json' }),
    post(`{"name": "x", "key": "${secret}`),
    post(secret),
    post(secret, { ...bearer, 'content-type': `text/${secret}` }),
    post({ name: 'x' }, { ...json, 'idempotency-key': `${secret}\u00e9` }),
    post({ url: `ftp://${secret}@example.com/`, events: ['*'] }, json, '/v1/webhooks'),
    post({ url: `https://user:${secret}@example.com/`, events: ['*'] }, json, '/v1/webhooks'),
    post({ url: 'https://example.com/', events: [secret] }, json, '/v1/webhooks'),
    post({ url: 'https://example.com/', events: ['*'], secret }, json, '/v1/webhooks'),
    raw(url, `GET /${secret} HTTP/9.9\r\nHost: x\r\n\r\n`),
    raw(url, `${secret} / HTTP/1.1\r\nHost: x\r\n\r\n`),
    raw(url, `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nbad header ${secret}\r\n\r\n`),
    raw(url, `GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${secret}\u0000\r\n\r\n`),
    raw(url, `GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${secret.repeat(2_000)}\r\n\r\n`),
    raw(url, `GET /?${secret.repeat(2_000)} HTTP/1.1\r\nHost: x\r\n\r\n`),
    raw(url, `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${secret}\r\n`),
    raw(url, `CONNECT ${secret}:443 HTTP/1.1\r\nHost: x\r\n\r\n`),
  ]);
}

async function ask(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (response.ok) throw new Error(`${init.method ?? 'GET'} must be rejected, but returned ${response.status}`);
  return `${response.status} ${JSON.stringify([...response.headers])} ${text}`;
}

/** Sends bytes that are no valid request, and reads until the other side closes the connection. */
async function raw(url: string, text: string): Promise<string> {
  let response = '';
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    response += chunk;
  });
  socket.on('error', () => {});
  socket.end(text);
  await once(socket, 'close');
  return response;
}
