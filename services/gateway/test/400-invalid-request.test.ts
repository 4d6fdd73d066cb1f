import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

describe('400 invalid_request', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  const detailsOf = async (method: string, path: string, raw: string | Buffer, headers = {}) => {
    const { status, body } = await api.send(method, path, { key, raw, headers });
    expect([status, body.error.code, body.error.status]).toEqual([400, 'invalid_request', 400]);
    expect(Object.keys(body.error)).toEqual(['code', 'message', 'status', 'details']);
    return body.error.details as { field: string; message: string }[];
  };
  const create = (json: unknown) => detailsOf('POST', '/v1/resources', JSON.stringify(json));
  const fieldsOf = (details: { field: string }[]) => details.map(({ field }) => field);

  test.each([
    ['', 'is empty; send a JSON object'],
    ['{', 'is not JSON: syntax error at line 1, column 2'],
    ['{"name":"x",}', 'is not JSON: syntax error at line 1, column 13'],
    ['{\n  "name": "x"\n', 'is not JSON: syntax error at line 3, column 1'],
    ['[', 'is not JSON: it is incomplete'],
    ['sk_live_secret', 'is not JSON'],
    [Buffer.from('{"name":"\xc3\x28"}', 'latin1'), 'is not UTF-8'],
    ['[]', 'must be an object'],
    ['null', 'must be an object'],
    ['"text"', 'must be an object'],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'must be an object'],
  ])('a body that is not a JSON object is rejected (%#)', async (raw, message) => {
    for (const [method, path] of [
      ['POST', '/v1/resources'],
      ['PATCH', '/v1/resources/res_x'],
      ['POST', '/v1/webhooks'],
    ] as const) {
      expect(await detailsOf(method, path, raw)).toEqual([{ field: 'body', message }]);
    }
  });

  test('every invalid field is reported', async () => {
    const details = await create({ name: '', type: 'gold', metadata: { k: 1, ok: '', '': 'v' }, color: 'red', n: 1 });
    expect(details).toEqual([
      { field: 'name', message: 'must have 1 to 255 characters, has 0' },
      { field: 'type', message: 'must be one of standard, advanced' },
      { field: 'metadata.k', message: 'must be a string' },
      { field: 'metadata.', message: 'the key must have 1 to 40 characters, has 0' },
      { field: 'color', message: 'is not a known field; known fields: name, type, metadata' },
      { field: 'n', message: 'is not a known field; known fields: name, type, metadata' },
    ]);
    expect(await create({})).toEqual([{ field: 'name', message: 'is required' }]);
    expect(await detailsOf('POST', '/v1/api_keys', '{"name":"x"}')).toEqual([
      { field: 'scope', message: 'is required; it must be one of read, write, admin, restricted' },
    ]);
    expect(await create({ name: null })).toEqual([{ field: 'name', message: 'must be a string' }]);
  });

  test.each([
    ['status=deleted', 'must be one of active, inactive, archived'],
    ['per_page=101', 'must be a whole number from 1 to 100'],
    ['sort=id', 'must be one of created_at, -created_at, updated_at, -updated_at, name, -name'],
    [`cursor=${'a'.repeat(5_000)}`, 'must have at most 4096 characters'],
    ['page=2', 'is not a known parameter; known parameters: status, per_page, cursor, sort, name_prefix, metadata'],
  ])('the message of an invalid parameter names the allowed values: %s', async (query, message) => {
    const { body } = await api.send('GET', `/v1/resources?${query}`, { key });
    const [{ field }] = body.error.details;
    expect(body.error.details).toEqual([{ field, message }]);
    expect(body.error.message).toBe(`The request is not valid: \`${field}\` ${message}.`);
  });

  test('a repeatable parameter is named once, without an index', async () => {
    const message = 'must be one of pending, delivered, failed, retrying, skipped, canceled';
    for (const query of ['status=failed&status=lost', 'status=gone&status=lost']) {
      const { body } = await api.send('GET', `/v1/deliveries?${query}`, { key });
      expect(body.error.details).toEqual([{ field: 'status', message }]);
    }
  });

  test('an unknown field of a nested object names the known fields of that object', async () => {
    const json = { url: 'https://e.example/', events: ['*'], rate_limit: { per_second: 1 } };
    expect(await detailsOf('POST', '/v1/webhooks', JSON.stringify(json))).toEqual([
      {
        field: 'rate_limit.per_second',
        message: 'is not a known field; known fields: requests_per_second, max_concurrency',
      },
    ]);
  });

  test('the message names the first invalid field and the number of the others', async () => {
    const { body } = await api.send('POST', '/v1/resources', { key, json: { name: '', type: 'gold', n: 1 } });
    expect(body.error.message).toBe(
      'The request is not valid: `name` must have 1 to 255 characters, has 0 (and 2 more in details).',
    );
  });

  test('fields with a special meaning in JavaScript are unknown fields like any other', async () => {
    const details = await detailsOf('POST', '/v1/resources', '{"name":"x","__proto__":{"a":1},"constructor":2}');
    expect(fieldsOf(details)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  test('at most a hundred invalid fields are reported, with truncated names', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`field-${i}`, i]));
    expect(await create({ name: 'x', ...many })).toHaveLength(100);
    const [only] = await create({ name: 'x', ['f'.repeat(100_000)]: 1 });
    expect(only?.field.length).toBeLessThan(150);
  });

  const emoji = '🎈';
  test.each([
    ['name', { name: 'n'.repeat(256) }],
    ['name', { name: emoji.repeat(256) }],
    ['name', { name: 'a\u0000' }],
    ['name', { name: '\ud800' }],
    ['metadata', { name: 'x', metadata: [] }],
    ['metadata', { name: 'x', metadata: null }],
    ['metadata', { name: 'x', metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, ''])) }],
    [`metadata.${'k'.repeat(41)}`, { name: 'x', metadata: { ['k'.repeat(41)]: 'v' } }],
    ['metadata.k', { name: 'x', metadata: { k: 'v'.repeat(501) } }],
    ['metadata.k', { name: 'x', metadata: { k: '\udc00' } }],
  ])('field limits: %s', async (field, json) => {
    expect(fieldsOf(await create(json))).toEqual([field]);
  });

  test('field limits count code points', async () => {
    const json = { name: emoji.repeat(255), metadata: { [emoji.repeat(40)]: emoji.repeat(500) } };
    expect((await api.send('POST', '/v1/resources', { key, json })).status).toBe(201);
  });

  test.each([
    ['events', { url: 'https://e.example/', events: [] }],
    ['events', { url: 'https://e.example/', events: ['*', 'resource.created'] }],
    ['events', { url: 'https://e.example/', events: ['resource.created', 'resource.created'] }],
    ['events.0', { url: 'https://e.example/', events: ['resource.renamed'] }],
    ['events', { url: 'https://e.example/', events: '*' }],
    ['url', { url: `https://e.example/${'a'.repeat(2_048)}`, events: ['*'] }],
    ['url', { url: 'http://e.example/', events: ['*'] }],
  ])('webhooks: an invalid %s', async (field, json) => {
    expect(fieldsOf(await detailsOf('POST', '/v1/webhooks', JSON.stringify(json)))).toEqual([field]);
  });

  test.each([
    ['per_page', 'per_page=0'],
    ['per_page', 'per_page=101'],
    ['per_page', 'per_page=10abc'],
    ['per_page', 'per_page=1e1'],
    ['per_page', 'per_page=%205'],
    ['per_page', 'per_page='],
    ['per_page', 'per_page=-1'],
    ['per_page', 'per_page=007'],
    ['sort', 'sort=id'],
    ['sort', 'sort=--name'],
    ['sort', 'sort='],
    ['status', 'status=deleted'],
    ['status', 'status='],
    ['cursor', 'cursor='],
    ['cursor', `cursor=${'a'.repeat(5_000)}`],
    ['cursor', 'cursor=%00'],
    ['page', 'page=2'],
    ['per_page', 'per_page=5&per_page=5'],
    ['__proto__', '__proto__=1'],
    ['toString', 'toString=1'],
  ])('an invalid query parameter is reported: %s (%s)', async (field, query) => {
    const { status, body } = await api.send('GET', `/v1/resources?${query}`, { key });
    expect([status, fieldsOf(body.error.details)]).toEqual([400, [field]]);
  });

  test('an endpoint without parameters rejects all parameters', async () => {
    const { status, body } = await api.send('POST', '/v1/resources?dry_run=true', { key, json: { name: 'x' } });
    expect([status, body.error.details]).toEqual([
      400,
      [{ field: 'dry_run', message: 'is not a known parameter; this endpoint has none' }],
    ]);
    expect((await api.send('GET', '/v1/resources?', { key })).status).toBe(200);
  });

  test.each(['', 'k'.repeat(256), 'tab\there', 'caf\u00e9'])(
    'an Idempotency-Key must have 1 to 255 printable ASCII characters (%#)',
    async (value) => {
      const details = await detailsOf('POST', '/v1/resources', '{"name":"x"}', { 'Idempotency-Key': value });
      expect(fieldsOf(details)).toEqual(['Idempotency-Key']);
    },
  );

  test.each([
    '',
    'Host: \r\n',
    'Host: a b\r\n',
    'Host: evil.example/path\r\n',
    'Host: <script>\r\n',
    'Host: 192.0.2.999\r\n',
    'Host: a:99999\r\n',
  ])('a valid Host header is required (%#)', async (header) => {
    const text = await sendBytes(
      api.gateway.addresses.live,
      `GET /v1/resources HTTP/1.1\r\nAuthorization: Bearer ${key.value}\r\nConnection: close\r\n${header}\r\n`,
    );
    const response = parseResponse(text);
    expect([response.status, response.body.error.details[0].field]).toEqual([400, 'Host']);
    contractCheck(response);
  });

  const contractCheck = (response: ReturnType<typeof parseResponse>) =>
    expect(response.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
});
