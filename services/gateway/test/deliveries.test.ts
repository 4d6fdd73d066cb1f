import { newId } from '@rms/base/ids';
import { DelayReason, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perTest } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('/v1/deliveries', () => {
  const api = perTest(startGateway);
  const key = perTest(() => api.auth.newKey('admin'));

  const detailsOf = async (query: string) => {
    const { status, body } = await api.send('GET', `/v1/deliveries?${query}`, { key });
    return [status, body.error?.details?.map(({ field }: { field: string }) => field)];
  };

  test('200: a list item has its last attempt but no bodies; the link keeps all filters; there is no total', async () => {
    const { id } = api.deliveries.add(DeliveryStatus.RETRYING, [Buffer.from('oops')]);
    const { body, text } = await api.send('GET', '/v1/deliveries?status=failed&status=retrying', { key });
    const last = { started_at: '2026-01-02T03:04:05.678Z', status: 500, error: 'status: 500', duration_ms: 12 };
    expect(body.data).toMatchObject([
      { id, type: 'delivery', status: 'retrying', attempt_count: 1, last_attempt: last, ended_at: null },
    ]);
    expect(text).not.toContain('oops');
    expect(body.meta).toEqual({ total: null, page: 1, per_page: 20 });
    expect(body.links).toEqual({
      next: `${api.gateway.addresses.live}/v1/deliveries?status=failed&status=retrying&cursor=next`,
      prev: null,
    });
  });

  test.each([
    [DelayReason.UNSPECIFIED, null],
    [DelayReason.RATE_LIMIT, 'rate_limit'],
    [DelayReason.CIRCUIT_OPEN, 'circuit_open'],
  ])('200: the delay reason %i is %p in lists and in one delivery', async (delayReason, expected) => {
    const stored = api.deliveries.add(DeliveryStatus.PENDING);
    const nextAttemptTime = stored.createTime;
    api.deliveries.stored.set(stored.id, { ...stored, delayReason, nextAttemptTime });
    const shown = { next_attempt_at: '2026-01-02T03:04:05.678Z', delay_reason: expected };
    expect((await api.send('GET', '/v1/deliveries', { key })).body.data).toMatchObject([shown]);
    expect((await api.send('GET', `/v1/deliveries/${stored.id}`, { key })).body.data).toMatchObject(shown);
  });

  test.each([
    ['status', 'status=gone'],
    ['status', 'status='],
    ['status', Array.from({ length: 7 }, () => 'status=failed').join('&')],
    ['event_type', 'event_type=*'],
    ['webhook_id', 'webhook_id='],
    ['webhook_id', 'webhook_id=%00'],
    ['webhook_id', 'webhook_id=foo'],
    ['webhook_id', `webhook_id=${newId('evt')}`],
    ['webhook_id', `webhook_id=${newId('wh')}0`],
    ['webhook_id', `webhook_id=${newId('wh')}&webhook_id=${newId('wh')}`],
    ['event_id', 'event_id=foo'],
    ['resource_id', 'resource_id=foo'],
    ['request_id', `request_id=${'x'.repeat(129)}`],
    ['created_after', 'created_after=yesterday'],
    ['created_after', 'created_after=2026-01-02'],
    ['created_after', 'created_after=2026-02-30T00:00:00Z'],
    ['per_page', 'per_page=101'],
    ['cursor', 'cursor=%2F'],
    ['unknown', 'unknown=1'],
    ['__proto__', '__proto__=1'],
    ['constructor', 'constructor=1&constructor=2'],
  ])('400: an invalid %s (%#)', async (field, query) => {
    const [status, fields] = await detailsOf(query);
    expect([status, new Set(fields)]).toEqual([400, new Set([field])]);
    expect(api.deliveries.lists).toEqual([]);
  });

  test('200: times outside the range of IDs are accepted', async () => {
    for (const time of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z']) {
      expect(await detailsOf(`created_after=${time}&created_before=${time}`)).toEqual([200, undefined]);
    }
  });

  test('200: one delivery has every attempt with its request and response', async () => {
    const { id } = api.deliveries.add(DeliveryStatus.FAILED, [
      Buffer.from('text'),
      Buffer.from([0xff]),
      Buffer.alloc(16_384, 'x'),
    ]);
    const { status, body, headers } = await api.send('GET', `/v1/deliveries/${id}`, { key });
    expect(status).toBe(200);
    const [first, second, third] = body.data.attempts;
    expect(first).toEqual({
      number: 1,
      started_at: '2026-01-02T03:04:05.678Z',
      duration_ms: 12,
      timing: { dns_ms: 0, connect_ms: 0, tls_ms: 0, first_byte_ms: 0 },
      request: {
        url: 'https://example.com/hooks',
        headers: { 'content-type': 'application/json' },
        body: '{"id":"evt_1"}',
      },
      response: {
        status: 500,
        headers: { date: 'now' },
        body: 'text',
        body_encoding: 'utf-8',
        truncated: false,
      },
      error: 'status: 500',
      remote_address: '192.0.2.1',
    });
    expect(second.response).toMatchObject({ body: '/w==', body_encoding: 'base64' });
    expect(third.response).toMatchObject({ truncated: true });
    const again = await api.send('GET', `/v1/deliveries/${id}`, {
      key,
      headers: { 'If-None-Match': headers.etag ?? '' },
    });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('200: copies of a large event are bounded; an erased event has no body', async () => {
    const { id } = api.deliveries.add(
      DeliveryStatus.FAILED,
      Array.from({ length: 100 }, () => Buffer.alloc(0)),
    );
    api.deliveries.requestBody = Buffer.from(JSON.stringify({ text: 'x'.repeat(200_000) }));
    const { body, text } = await api.send('GET', `/v1/deliveries/${id}`, { key });
    const copies = body.data.attempts.map(({ request }: { request: { body: string | null } }) => request.body !== null);
    expect(copies.lastIndexOf(true)).toBe(3);
    expect(text.length).toBeLessThan(2 ** 20 + 100_000);
    api.deliveries.requestBody = Buffer.alloc(0);
    expect((await api.send('GET', `/v1/deliveries/${id}`, { key })).body.data.attempts[0].request.body).toBeNull();
  });

  const requests = [
    ['GET', (id: string) => `/v1/deliveries/${id}`],
    ['POST', (id: string) => `/v1/deliveries/${id}/redeliver`],
    ['POST', (id: string) => `/v1/deliveries/${id}/cancel`],
  ] as const;

  test.each(requests)('404: %s with an unknown or malformed ID (%#)', async (method, path) => {
    for (const id of [newId('dlv'), newId('wh'), 'x'.repeat(300), '%00', '..%2F..']) {
      expect((await api.send(method, path(id), { key })).status).toBe(404);
    }
    const message = 'There is no delivery "x". IDs of deliveries start with "dlv_".';
    expect((await api.send(method, path('x'), { key })).body.error.message).toBe(message);
  });
});
