import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

describe('A request that a proxy rewrites, as HTTP permits', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  const body = '{"name":"Gruss"}';
  const length = Buffer.byteLength(body);
  const chunk = (text: string, extension = '') => `${Buffer.byteLength(text).toString(16)}${extension}\r\n${text}\r\n`;
  const chunked = `${chunk('{"name":')}${chunk('"Gruss"}', ';part=2')}0\r\nX-Checksum: 1\r\n\r\n`;
  const send = async (line: string, headers: readonly string[], content = '') => {
    const head = [line, ...headers, 'Connection: close'].join('\r\n');
    return parseResponse(await sendBytes(api.gateway.addresses.live, `${head}\r\n\r\n${content}`));
  };
  const usual = (): Record<string, string> => ({
    Host: 'Host: api.example.com',
    Authorization: `Authorization: Bearer ${key.value}`,
    'Content-Type': 'Content-Type: application/json',
    'Content-Length': `Content-Length: ${length}`,
  });

  test.each<[string, { line?: string; headers?: Record<string, string>; content?: string }]>([
    ['not at all', {}],
    ['to chunks', { headers: { 'Content-Length': 'Transfer-Encoding: chunked' }, content: chunked }],
    ['to chunks, in another case', { headers: { 'Content-Length': 'transfer-encoding: Chunked' }, content: chunked }],
    [
      'to names in lower case',
      { headers: { 'Content-Type': 'content-type: application/json', Host: 'host: a.example' } },
    ],
    ['to names in upper case', { headers: { 'Content-Type': 'CONTENT-TYPE:application/json' } }],
    ['with blanks around values', { headers: { 'Content-Type': 'Content-Type: \t application/json \t' } }],
    ['with a charset', { headers: { 'Content-Type': 'Content-Type: Application/JSON;charset="UTF-8"' } }],
    ['with the scheme in another case', { headers: { Authorization: 'authorization: bearer  KEY' } }],
    ['to HTTP/1.0', { line: 'POST /v1/resources HTTP/1.0' }],
    ['to HTTP/1.0 without Host', { line: 'POST /v1/resources HTTP/1.0', headers: { Host: 'Via: 1.1 proxy' } }],
    ['to an absolute target', { line: 'POST http://api.example.com/v1/resources HTTP/1.1' }],
    ['with the default port', { headers: { Host: 'Host: api.example.com:80' } }],
    ['with a trailing dot', { headers: { Host: 'Host: api.example.com.' } }],
    ['with an encoding that changes nothing', { headers: { 'Content-Encoding': 'Content-Encoding: identity' } }],
    ['with entries of its own', { headers: { Via: 'Via: 1.1 a, 1.1 b\r\nForwarded: for=192.0.2.1\r\nTE: trailers' } }],
    ['with a repeated list', { headers: { Accept: 'Accept: application/json\r\nAccept: */*, ,' } }],
  ])('%s: has the same effect', async (_, { line = 'POST /v1/resources HTTP/1.1', headers = {}, content = body }) => {
    const lines = Object.values({ ...usual(), ...headers }).map((text) => text.replace('KEY', key.value));
    const response = await send(line, lines, content);
    expect([response.status, response.body.data?.name]).toEqual([201, 'Gruss']);
  });

  test('an empty body in chunks is none', async () => {
    const { Host = '', Authorization = '' } = usual();
    const empty = ['Transfer-Encoding: chunked', Host, Authorization];
    expect((await send('GET /v1/resources HTTP/1.1', empty, '0\r\n\r\n')).status).toBe(200);
    const { body: created } = await api.send('POST', '/v1/resources', { key, json: { name: 'x' } });
    expect((await send(`DELETE /v1/resources/${created.data.id} HTTP/1.1`, empty, '0\r\n\r\n')).status).toBe(204);
  });

  test.each([
    ['weakened (nginx)', (tag: string) => `W/"${tag}"`],
    ['with a suffix (Apache)', (tag: string) => `"${tag}-gzip"`],
    ['weakened with a suffix (Jetty)', (tag: string) => `W/"${tag}--gzip"`],
    ['with a suffix of Brotli', (tag: string) => `"${tag}-br"`],
    ['after an empty element', (tag: string) => `, "other",, "${tag}"`],
    ['before an empty element', (tag: string) => `"${tag}" ,`],
  ])('an entity tag %s still identifies the version', async (_, rewrite) => {
    const { body: created, headers } = await api.send('POST', '/v1/resources', { key, json: { name: 'x' } });
    const sent = rewrite(String(headers.etag).slice(1, -1));
    const path = `/v1/resources/${created.data.id}`;
    expect((await api.send('GET', path, { key, headers: { 'If-None-Match': sent } })).status).toBe(304);
    const update = { key, json: { name: 'y' }, headers: { 'If-Match': sent } };
    expect((await api.send('PATCH', path, update)).status).toBe(200);
    expect((await api.send('PATCH', path, update)).status).toBe(412);
  });
});
