import { getEventListeners, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  PreconditionFailedError,
  RateLimitError,
  Rms,
  type RmsOptions,
  ServiceError,
} from '../src/index.ts';

const apiKey = 'sk_test_secret';
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver({ path: '' });
});
afterEach(() => receiver.close());

const client = (more: Partial<RmsOptions> = {}) => new Rms({ url: receiver.url, apiKey, ...more });
const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const failure = (code: string, status: number, more: object = {}) => ({
  error: { code, message: 'It failed.', status, ...more },
});
/** Responds with each of the statuses in turn, then with 200. */
const respondWithStatuses = (statuses: readonly number[], headers: Record<string, string> = {}) => {
  const remaining = [...statuses];
  receiver.respondWith((_, response) => {
    const status = remaining.shift();
    if (status === undefined) json(response, 200, { data: { id: 'res_1' } });
    else json(response, status, failure('service_unavailable', status), headers);
  });
};

describe('a request', () => {
  test('has the key, JSON and conditions, and its result has the headers of the response', async () => {
    const headers = {
      etag: '"1.a"',
      'x-request-id': 'req_1',
      'idempotency-replayed': 'true',
    };
    receiver.respondWith((_, response) => json(response, 200, { data: { id: 'res_1' } }, headers));
    const rms = client({ headers: { 'User-Agent': 'shop/1' } });
    const result = await rms.resources.update(
      'res_1',
      { name: 'Ü' },
      { ifMatch: '"0.a"', headers: { 'x-extra': '1' } },
    );
    expect(result).toMatchObject({ data: { id: 'res_1' }, status: 200, etag: '"1.a"', requestId: 'req_1' });
    expect(result.isReplayed).toBe(true);
    expect(receiver.requests).toEqual([
      expect.objectContaining({
        method: 'PATCH',
        path: '/v1/resources/res_1',
        json: { name: 'Ü' },
        headers: expect.objectContaining({
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'if-match': '"0.a"',
          'user-agent': 'shop/1',
          'x-extra': '1',
        }),
      }),
    ]);
  });

  test('with ifNoneMatch resolves without data if the object is the same', async () => {
    receiver.respondWith((_, response) => void response.writeHead(304, { etag: '"1.a"' }).end());
    const result = await client().resources.get('res_1', { ifNoneMatch: '"1.a"' });
    expect(result).toMatchObject({ status: 304, data: undefined, etag: '"1.a"' });
    expect(receiver.requests[0]?.headers['if-none-match']).toBe('"1.a"');
  });

  test('without a body has no content type, and 204 is a result without data', async () => {
    receiver.respondWith(204);
    expect(await client().webhooks.delete('wh_1')).toMatchObject({ status: 204, data: undefined });
    expect(receiver.requests[0]?.headers).not.toHaveProperty('content-type');
  });

  test.each([
    ['', '/v1/resources/res_1'],
    ['/', '/v1/resources/res_1'],
    ['/v1/', '/v1/resources/res_1'],
    ['/api/v1', '/api/v1/resources/res_1'],
    ['/api/', '/api/v1/resources/res_1'],
  ])('to the URL with the path %j goes to %s', async (path, called) => {
    receiver.respondWith((_, response) => json(response, 200, { data: {} }));
    await client({ url: receiver.url + path }).resources.get('res_1');
    expect(receiver.requests[0]?.path).toBe(called);
  });

  test('encodes IDs, and sends nothing for an ID that would change the path', async () => {
    receiver.respondWith((_, response) => json(response, 200, { data: {} }));
    await client().resources.get('a/../b?c#d é');
    expect(receiver.requests[0]?.path).toBe('/v1/resources/a%2F..%2Fb%3Fc%23d%20%C3%A9');
    for (const id of ['', '.', '..']) expect(() => client().resources.get(id)).toThrow(TypeError);
    expect(receiver.requests).toHaveLength(1);
  });

  test('has the fields of a query as parameters', async () => {
    receiver.respondWith((_, response) => json(response, 200, { data: [], meta: {}, links: {} }));
    const query = { status: ['failed', 'pending'], test: false, webhook_id: undefined, event_id: 'a&b' } as const;
    await client().deliveries.list(query).page();
    await client()
      .deliveries.list({ metadata: { team: 'blue' } } as object)
      .page();
    expect(receiver.requests.map(({ path }) => decodeURIComponent(path))).toEqual([
      '/v1/deliveries?status=failed&status=pending&test=false&event_id=a&b',
      '/v1/deliveries?metadata[team]=blue',
    ]);
  });

  test('uses the fetch of the options', async () => {
    const called: unknown[] = [];
    const own: typeof fetch = async (input) => {
      called.push(input);
      return Response.json({ data: { id: 'res_1' } });
    };
    await client({ fetch: own }).resources.get('res_1');
    expect(called).toEqual([`${receiver.url}/v1/resources/res_1`]);
  });

  test('does not follow redirects, which would send the key elsewhere', async () => {
    const other = await startReceiver();
    try {
      receiver.respondWith((_, response) => void response.writeHead(307, { location: other.url }).end());
      await expect(client().resources.get('res_1')).rejects.toMatchObject({ status: 307, code: undefined });
      expect(other.requests).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

test('a client does not show its key', () => {
  const rms = client();
  expect(inspect(rms, { depth: 9, showHidden: true }) + JSON.stringify(rms)).not.toContain(apiKey);
  for (const wrong of ['', 'sk_test_secret\n', 'sk_test_secreté']) {
    expect(() => client({ apiKey: wrong })).toThrow(/^(?!.*sk_test)/);
  }
});

test.each(['', 'api.example.com', 'ftp://example.com', 'https://a:b@example.com', 'https://example.com?a=b'])(
  'the URL %j is refused',
  (url) => {
    expect(() => client({ url })).toThrow(TypeError);
  },
);

describe('an error response', () => {
  const details = [{ field: 'name', message: 'is required' }];
  test.each([
    [400, 'invalid_request', InvalidRequestError],
    [401, 'api_key_expired', AuthenticationError],
    [403, 'insufficient_scope', PermissionError],
    [404, 'not_found', NotFoundError],
    [409, 'conflict', ConflictError],
    [412, 'precondition_failed', PreconditionFailedError],
    [422, 'idempotency_key_reused', ApiError],
    [429, 'rate_limit_exceeded', RateLimitError],
    [500, 'internal_error', ServiceError],
    [504, 'timeout', ServiceError],
  ])('with status %d and code %s rejects with %p', async (status, code, Class) => {
    const headers = { 'x-request-id': 'req_1', 'retry-after': '7' };
    const body = failure(code, status, { details, doc_url: 'https://example.com/errors' });
    receiver.respondWith((_, response) => json(response, status, body, headers));
    const error = await client({ maxRetries: 0 })
      .resources.create({ name: '' })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Class);
    expect(error).toMatchObject({
      name: Class.name,
      message: `It failed. (${status} ${code}, request req_1)`,
      status,
      code,
      violations: details,
      requestId: 'req_1',
      retryAfter: 7,
      docUrl: 'https://example.com/errors',
    });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([
    [502, '<html>', ServiceError],
    [404, '{"error":"no"}', NotFoundError],
    [418, 'null', ApiError],
    [200, '<html>', ApiError],
    [200, '', ApiError],
  ])('with status %d and the body %j is not of the API', async (status, body, Class) => {
    receiver.respondWith((_, response) => void response.writeHead(status).end(body));
    const error = await client({ maxRetries: 0 })
      .resources.get('res_1')
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Class);
    expect(error).toMatchObject({
      message: `The response is not of the API. Check \`url\`. (${status} not a response of the API)`,
      code: undefined,
      violations: [],
      requestId: '',
      retryAfter: undefined,
    });
  });

  test('with a date in Retry-After has the seconds until then', async () => {
    const at = new Date(Date.now() + 3_600_000).toUTCString();
    receiver.respondWith((_, response) => json(response, 429, failure('quota_exceeded', 429), { 'retry-after': at }));
    const error = (await client()
      .resources.get('res_1')
      .catch((thrown: unknown) => thrown)) as RateLimitError;
    expect(error.retryAfter).toBeGreaterThan(3_500);
    expect(error.retryAfter).toBeLessThanOrEqual(3_600);
  });
});

describe('retries', () => {
  test('of a POST have the same Idempotency-Key and body; each call has a key of its own', async () => {
    respondWithStatuses([503, 504]);
    await client().resources.create({ name: 'A' });
    await client().resources.create({ name: 'A' });
    const keys = receiver.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]]);
    expect(keys[3]).not.toBe(keys[0]);
    expect(receiver.requests.map((request) => request.json)).toEqual(Array(4).fill({ name: 'A' }));
  });

  test('use the Idempotency-Key of the caller', async () => {
    respondWithStatuses([503]);
    await client().keys.roll('key_1', undefined, { idempotencyKey: 'order-7' });
    expect(receiver.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['order-7', 'order-7']);
  });

  test.each([
    ['GET', (rms: Rms) => rms.resources.get('res_1')],
    ['DELETE', (rms: Rms) => rms.resources.delete('res_1')],
    ['POST', (rms: Rms) => rms.deliveries.cancel('dlv_1')],
    ['PUT', (rms: Rms) => rms.webhooks.setClientCertificate('wh_1', { certificate: 'x', private_key: 'y' })],
    ['PATCH with an ETag', (rms: Rms) => rms.resources.update('res_1', {}, { ifMatch: '"1.a"' })],
  ])('repeat %s after 408, 502 and a closed connection', async (_, call) => {
    let count = 0;
    receiver.respondWith((_request, response) => {
      count += 1;
      if (count === 3) response.socket?.destroy();
      else if (count < 3) json(response, count === 1 ? 408 : 502, {});
      else json(response, 200, { data: {} });
    });
    await call(client());
    expect(count).toBe(4);
  });

  test('do not repeat a PATCH that may have taken effect', async () => {
    respondWithStatuses([503]);
    await expect(client().resources.update('res_1', {})).rejects.toBeInstanceOf(ServiceError);
    receiver.respondWith((_, response) => void response.socket?.destroy());
    await expect(client().resources.update('res_1', {})).rejects.toBeInstanceOf(ConnectionError);
    const anyVersion = client().resources.update('res_1', {}, { ifMatch: '*' });
    await expect(anyVersion).rejects.toBeInstanceOf(ConnectionError);
    expect(receiver.requests).toHaveLength(3);
  });

  test('repeat a PATCH after 429, not before Retry-After', async () => {
    respondWithStatuses([429], { 'retry-after': '1' });
    await client().resources.update('res_1', {});
    const [first, second] = receiver.requests.map(({ receivedAtMs }) => receivedAtMs);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(995);
  });

  test('do not wait for a Retry-After of more than a minute', async () => {
    respondWithStatuses([429], { 'retry-after': '61' });
    await expect(client().resources.get('res_1')).rejects.toMatchObject({ status: 429, retryAfter: 61 });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([400, 404, 409, 500])('do not repeat a request with status %d', async (status) => {
    respondWithStatuses([status]);
    await expect(client().resources.get('res_1')).rejects.toMatchObject({ status });
    expect(receiver.requests).toHaveLength(1);
  });

  test('end after maxRetries, of the client or of the call', async () => {
    receiver.respondWith(503);
    await expect(client({ maxRetries: 1 }).resources.get('res_1')).rejects.toMatchObject({ status: 503 });
    expect(receiver.requests).toHaveLength(2);
    await expect(client().resources.get('res_1', { maxRetries: 0 })).rejects.toMatchObject({ status: 503 });
    expect(receiver.requests).toHaveLength(3);
  });
});

describe('a call without a response', () => {
  test('rejects with ConnectionError, whose message has the cause and no query', async () => {
    const { url } = receiver;
    await receiver.close();
    const call = client({ maxRetries: 0 }).resources.list({ cursor: 'secret' }).page();
    await expect(call).rejects.toBeInstanceOf(ConnectionError);
    await expect(call).rejects.toThrow(`${url}/v1/resources: connect ECONNREFUSED`);
  });

  test.each([
    ['the response', () => {}],
    ['the end of the response', (response: ServerResponse) => response.writeHead(200).write('{"data":')],
  ])('does not wait longer than the timeout for %s', async (_, begin) => {
    receiver.respondWith((_request, response) => void begin(response));
    await expect(client({ timeout: 100, maxRetries: 1 }).resources.get('res_1')).rejects.toThrow(
      /no response within 100 ms$/,
    );
    expect(receiver.requests).toHaveLength(2);
    await expect(client().resources.get('res_1', { timeout: 50, maxRetries: 0 })).rejects.toThrow('within 50 ms');
  });

  test('ends when its signal aborts, with the reason of the signal', async () => {
    receiver.respondWith(() => {});
    const controller = new AbortController();
    const call = client().resources.get('res_1', { signal: controller.signal });
    await waitUntil(() => receiver.requests.length === 1, { what: 'the request' });
    controller.abort('enough');
    await expect(call).rejects.toBe('enough');
    await expect(client().resources.get('res_1', { signal: controller.signal })).rejects.toBe('enough');
    expect(receiver.requests).toHaveLength(1);
  });

  test('ends when its signal aborts before a retry', async () => {
    const controller = new AbortController();
    receiver.respondWith((_, response) => {
      json(response, 503, {}, { 'retry-after': '60' });
      void once(response, 'close').then(() => setImmediate(() => controller.abort(new Error('enough'))));
    });
    await expect(client().resources.get('res_1', { signal: controller.signal })).rejects.toThrow('enough');
    expect(receiver.requests).toHaveLength(1);
  });

  test('leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    respondWithStatuses([503]);
    await client().resources.get('res_1', { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
