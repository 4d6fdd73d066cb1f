import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perTest } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('/v1/requests', () => {
  const api = perTest(startGateway);
  const key = perTest(() => api.auth.newKey('admin'));

  const get = (path: string) => api.send('GET', path, { key });
  const startMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  const log = (fields: object = {}) =>
    api.auth.logged.push({
      workspaceId: key.workspaceId,
      requestId: 'request-1',
      startTime: timestampFromMs(startMs),
      method: 'PATCH',
      route: '/v1/resources/:id',
      path: '/v1/resources/res_1',
      status: 404,
      errorCode: 'not_found',
      keyId: 'key_1',
      environment: Environment.LIVE,
      clientAddress: '192.0.2.1',
      durationMs: 12.345,
      authenticatedMs: 1,
      ...fields,
    });

  test('200: every filter reaches the request log, and items have the documented fields', async () => {
    log();
    const query =
      'method=PATCH&route=%2Fv1%2Fresources%2F%7Bid%7D&status=4xx&per_page=7&cursor=c&' +
      'api_key_id=key_01jc3v9m0w7y8x2k4n6p8q0r2s&user_id=usr_01jc3v9m0w7y8x2k4n6p8q0r2s&error_code=not_found&' +
      'client_ip=2001%3ADB8%3A0%3A%3A1&' +
      'created_after=2026-01-02T03:04:05Z&created_before=2026-01-02T03:04:06Z';
    const { status, body } = await get(`/v1/requests?${query}`);
    expect([status, body.meta]).toEqual([200, { total: null, page: 1, per_page: 7, left_out: 12 }]);
    expect(body.data).toEqual([
      {
        request_id: 'request-1',
        type: 'request',
        method: 'PATCH',
        path: '/v1/resources/res_1',
        route: '/v1/resources/{id}',
        status: 404,
        error_code: 'not_found',
        api_key_id: 'key_1',
        user_id: null,
        client_ip: '192.0.2.1',
        duration_ms: 12.35,
        started_at: '2026-01-02T03:04:05.000Z',
        trace_id: null,
      },
    ]);
    expect(api.auth.searches).toMatchObject([
      {
        workspaceId: key.workspaceId,
        environment: 1,
        method: 'PATCH',
        route: '/v1/resources/:id',
        minStatus: 400,
        maxStatus: 499,
        keyId: 'key_01jc3v9m0w7y8x2k4n6p8q0r2s',
        actor: 'user:usr_01jc3v9m0w7y8x2k4n6p8q0r2s',
        errorCode: 'not_found',
        // As gateways record it.
        clientAddress: '2001:db8::1',
        since: { seconds: BigInt(startMs / 1_000) },
        until: { seconds: BigInt(startMs / 1_000 + 1) },
        pageSize: 7,
        pageToken: 'c',
      },
    ]);
  });

  test('200: one status; a change in the dashboard names its user', async () => {
    log({ keyId: '', actor: 'user:usr_1', path: '', route: '/v1{/*rest}', status: 0 });
    const { body } = await get('/v1/requests?status=404');
    expect(api.auth.searches).toMatchObject([{ minStatus: 404, maxStatus: 404 }]);
    expect(body.data).toMatchObject([{ api_key_id: null, user_id: 'usr_1', path: null, route: null, status: null }]);
  });

  test.each([
    ['status', 'status=6xx'],
    ['status', 'status=600'],
    ['status', 'status=4XX'],
    ['status', 'status=404&status=405'],
    ['method', 'method=TRACE'],
    ['route', 'route='],
    ['route', `route=${'x'.repeat(201)}`],
    ['api_key_id', 'api_key_id=%00'],
    ['api_key_id', 'api_key_id=foo'],
    ['user_id', 'user_id=foo'],
    ['error_code', 'error_code=Not%20found'],
    ['client_ip', 'client_ip=10.0.0.0/8'],
    ['client_ip', 'client_ip='],
    ['created_after', 'created_after=1'],
    ['per_page', 'per_page=0'],
    ['request_id', 'request_id=request-1'],
  ])('400: an invalid %s (%s)', async (field, query) => {
    const { status, body } = await get(`/v1/requests?${query}`);
    expect([status, new Set(body.error.details.map((one: { field: string }) => one.field))]).toEqual([
      400,
      new Set([field]),
    ]);
    expect(api.auth.searches).toEqual([]);
  });

  test('200: the timeline has the request, its events, deliveries and attempts, and all steps in order', async () => {
    log({ traceId: 'a'.repeat(32), status: 200, errorCode: '' });
    const event = {
      environment: Environment.LIVE,
      id: 'evt_1',
      type: 'resource.updated',
      resourceId: 'res_1',
      position: 7n,
    };
    api.events.passages.push({
      ...event,
      createTime: timestampFromMs(startMs + 5),
      storeTime: timestampFromMs(startMs + 50),
    });
    const { id } = api.deliveries.add(DeliveryStatus.RETRYING, [Buffer.from('a secret body')]);
    const { status, body, text, headers } = await get('/v1/requests/request-1');
    expect(status).toBe(200);
    expect(text).not.toContain('a secret body');
    expect(body.data).toMatchObject({
      request_id: 'request-1',
      type: 'request_timeline',
      trace_ids: ['a'.repeat(32)],
      requests: [{ status: 200, replayed: false, authenticated_ms: 1, limited_ms: null }],
      events: [{ id: 'evt_1', sequence: 7 }],
      deliveries: [{ id, status: 'retrying', attempts: [{ number: 1, status: 500, error: 'status: 500' }] }],
      has_more_deliveries: false,
      audit_entries: [],
    });
    const steps: { at: string; text: string }[] = body.data.steps;
    expect(steps).toHaveLength(6);
    expect(steps.map(({ at }) => at)).toEqual(steps.map(({ at }) => at).sort());
    const again = await api.send('GET', '/v1/requests/request-1', {
      key,
      headers: { 'If-None-Match': headers.etag ?? '' },
    });
    expect(again.status).toBe(304);
  });

  test('404: an unknown or malformed request ID', async () => {
    log({ workspaceId: 'ws_of_another' });
    for (const id of ['request-1', 'request-2', 'short', 'x'.repeat(129), '%3Cscript%3E', '%00']) {
      expect((await get(`/v1/requests/${id}`)).status).toBe(404);
    }
    expect((await get('/v1/requests/request-2')).body.error.message).toBe('No record of request "request-2".');
  });
});
