import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

const catalog = 'https://docs.example.com/errors.html';

describe('error.doc_url', () => {
  const api = perSuite(() => startGateway({ env: { ERROR_CATALOG_URL: catalog, RATE_LIMIT_REQUESTS: '4' } }));
  const key = perSuite(() => api.auth.newKey('read'));

  test('links to the code in the catalog', async () => {
    for (const [method, path, code] of [
      ['GET', '/v1/resources?status=deleted', 'invalid_request'],
      ['GET', `/v1/resources/res_${'0'.repeat(26)}`, 'not_found'],
      ['GET', '/nothing', 'not_found'],
      ['PUT', '/v1/resources', 'method_not_allowed'],
    ] as const) {
      const { body } = await api.send(method, path, { key });
      expect([body.error.code, body.error.doc_url]).toEqual([code, `${catalog}#${code}`]);
    }
    const malformed = parseResponse(await sendBytes(api.gateway.addresses.live, 'garbage\r\n\r\n'));
    expect(malformed.body.error.doc_url).toBe(`${catalog}#invalid_request`);
  });

  test('is absent from 401, 403 and 429, which have exactly code, message and status', async () => {
    const reader = api.auth.newKey('read').value;
    const outside = api.auth.newKey('read', { allowedIps: ['192.0.2.1/32'] }).value;
    const responses = [
      await api.send('GET', '/v1/resources'),
      await api.send('POST', '/v1/resources', { key: reader, json: { name: 'x' } }),
      await api.send('GET', '/v1/resources', { key: outside }),
    ];
    for (let i = 0; i < 4; i += 1) await api.send('GET', '/v1/resources', { key: reader });
    responses.push(await api.send('GET', '/v1/resources', { key: reader }));
    expect(responses.map(({ body }) => body.error.code)).toEqual([
      'invalid_api_key',
      'insufficient_scope',
      'ip_not_allowed',
      'rate_limit_exceeded',
    ]);
    for (const { body } of responses) expect(Object.keys(body.error)).toEqual(['code', 'message', 'status']);
  });
});
