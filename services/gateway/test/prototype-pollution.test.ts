import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__'];

describe('Names with a special meaning in JavaScript, and JSON that is expensive to parse', () => {
  const before = names.map((name) => (Object.prototype as Record<string, unknown>)[name]);
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));
  afterEach(() => {
    expect(names.map((name) => (Object.prototype as Record<string, unknown>)[name])).toEqual(before);
    expect(Object.keys(Object.prototype)).toEqual([]);
    for (const name of ['polluted', 'isAdmin']) expect(({} as Record<string, unknown>)[name]).toBeUndefined();
  });

  const post = (raw: string, path = '/v1/resources') => api.send('POST', path, { key, raw });
  const fieldsOf = ({ body }: Awaited<ReturnType<typeof post>>) =>
    body.error.details.map(({ field }: { field: string }) => field);

  test.each(names)('%s is an unknown field like any other', async (name) => {
    for (const value of ['{"polluted":true}', '"x"', 'null', '{"prototype":{"polluted":true}}']) {
      const response = await post(`{"name":"x",${JSON.stringify(name)}:${value}}`);
      expect([response.status, fieldsOf(response)]).toEqual([400, [name]]);
      const webhook = await post(`{"url":"https://e.example/","events":["*"],"${name}":${value}}`, '/v1/webhooks');
      expect([webhook.status, fieldsOf(webhook)]).toEqual([400, [name]]);
    }
  });

  test('a body does not inherit fields from its prototype', async () => {
    expect(fieldsOf(await post('{"__proto__":{"name":"x"}}'))).toEqual(['name', '__proto__']);
  });

  test.each(names)('%s as a metadata key is stored and returned', async (name) => {
    const { status, text, body } = await post(`{"name":"x","metadata":{"${name}":"v","other":"w"}}`);
    expect(status).toBe(201);
    expect(text).toContain(`"metadata":{"${name}":"v","other":"w"}`);
    expect((await api.send('GET', `/v1/resources/${body.data.id}`, { key })).text).toContain(`"${name}":"v"`);
    const nested = await post(`{"name":"x","metadata":{"${name}":{"polluted":true}}}`);
    expect([nested.status, fieldsOf(nested)]).toEqual([400, [`metadata.${name}`]]);
  });

  test.each(names)('%s as a query parameter, header, ID or path has no special effect', async (name) => {
    for (const query of [`${name}=1`, `${name}[polluted]=1`, `${name}.polluted=1`, `${name}=1&${name}=2`]) {
      expect((await api.send('GET', `/v1/resources?${query}`, { key })).status).toBe(400);
    }
    expect((await api.send('GET', `/v1/resources/${name}`, { key })).status).toBe(404);
    expect((await api.send('GET', `/v1/${name}`, { key })).status).toBe(404);
    expect((await api.send('GET', `/${name}`)).status).toBe(404);
    expect((await api.send('GET', '/livez', { headers: { [name]: 'polluted' } })).status).toBe(200);
    const raw = `GET /livez HTTP/1.1\r\nHost: x\r\n${name}: {"polluted":true}\r\nConnection: close\r\n\r\n`;
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, raw)).status).toBe(200);
  });

  test('the last value of a repeated key is used', async () => {
    const { status, body } = await post('{"name":"first","name":"last","metadata":{"a":"1","a":"2"}}');
    expect([status, body.data.name, body.data.metadata]).toEqual([201, 'last', { a: '2' }]);
  });

  test.each([
    ['deep objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
    ['deep metadata', `{"name":"x","metadata":{"k":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`],
    ['deep names', `{"name":${'{"name":'.repeat(20_000)}1${'}'.repeat(20_000)}}`],
    ['deep unfinished arrays', '['.repeat(200_000)],
    ['huge numbers', `{"name":"x","metadata":{"k":${'9'.repeat(100_000)}}}`],
    ['huge exponents', '{"name":1e999999999,"type":-1e-999999999}'],
    ['numbers with many digits', `{"name":0.${'1'.repeat(200_000)}}`],
    ['many keys', `{"name":"x",${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',')}}`],
    [
      'many metadata keys',
      `{"name":"x","metadata":{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',')}}}`,
    ],
    ['many empty keys', `{"name":"x","metadata":{${'"":"",'.repeat(30_000)}"":""}}`],
    ['many escapes', `{"name":"${'\\u0041'.repeat(40_000)}"}`],
    ['many events', `{"url":"https://e.example/","events":[${'"*",'.repeat(50_000)}"*"]}`],
  ])('%s are rejected with a short response', async (_, raw) => {
    for (const path of ['/v1/resources', '/v1/webhooks']) {
      const { status, text } = await post(raw, path);
      expect(status).toBe(400);
      expect(text.length).toBeLessThan(20_000);
    }
  });

  test('an object with a hundred thousand keys exceeds the body limit', async () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join(',');
    expect((await post(`{${keys}}`)).status).toBe(413);
  });
});
