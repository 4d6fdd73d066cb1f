import { errorKinds, RmsError } from '@rms/base/errors';
import { createMemoryLimiter } from '@rms/limits';
import { perTest } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes, type WireResponse } from './support/wire.ts';

const inside = 'relation "resources.resource" at /srv/rms/dist/create.js:12, password hunter2, 10.0.0.7:5432';

/** Failures with internal details, and the error code that the client sees. */
const failures: [string, () => unknown, keyof typeof errorKinds][] = [
  ['an Error', () => new Error(inside), 'internal_error'],
  ['a TypeError', () => new TypeError(`Cannot read properties of undefined (reading '${inside}')`), 'internal_error'],
  [
    'a PostgreSQL error',
    () =>
      Object.assign(new Error(inside), {
        code: '42P01',
        detail: inside,
        hint: inside,
        query: inside,
        severity: 'ERROR',
      }),
    'internal_error',
  ],
  ['a system error', () => Object.assign(new Error(inside), { code: 'ECONNREFUSED' }), 'internal_error'],
  ['a gRPC error', () => Object.assign(new Error(inside), { code: 5, details: inside }), 'internal_error'],
  ['a string', () => inside, 'internal_error'],
  ['undefined', () => undefined, 'internal_error'],
  ['an RmsError with a cause', () => new RmsError('conflict', { cause: new Error(inside) }), 'conflict'],
  [
    'an RmsError with a chain of causes',
    () => new RmsError('service_unavailable', { cause: new Error('outer', { cause: new Error(inside) }) }),
    'service_unavailable',
  ],
  ['an internal RmsError with a message', () => new RmsError('internal_error', { message: inside }), 'internal_error'],
];

describe('Internal errors reveal no details', () => {
  const api = perTest(startGateway);
  const key = perTest(() => api.auth.newKey('admin'));

  const expectPublic = ({ status, body, text, headers }: WireResponse, code: keyof typeof errorKinds) => {
    const { httpStatus, message } = errorKinds[code];
    expect([status, body]).toEqual([httpStatus, { error: { code, message, status: httpStatus } }]);
    const all = text + JSON.stringify(headers);
    for (const word of ['hunter2', '/srv', '.js', '.ts', 'at ', 'ECONN', '5432', 'relation', 'node_modules', 'grpc']) {
      expect(all.includes(word) ? word : '').toBe(word === 'at ' && message.includes('at ') ? word : '');
    }
  };

  test.each(failures)('thrown by a service: %s', async (_, make, code) => {
    api.resources.before = async () => {
      throw make();
    };
    for (const [method, path] of [
      ['POST', '/v1/resources'],
      ...(code === 'conflict'
        ? []
        : ([
            ['GET', '/v1/resources'],
            ['GET', `/v1/resources/res_${'0'.repeat(26)}`],
          ] as const)),
      ['DELETE', `/v1/resources/res_${'0'.repeat(26)}`],
    ] as const) {
      const response = await api.send(method, path, { key, ...(method === 'POST' ? { json: { name: 'x' } } : {}) });
      expectPublic(response, code);
    }
  });

  test.each(failures.slice(0, 5))('thrown by auth: %s', async (_, make, code) => {
    api.auth.beforeResponse = async () => {
      throw make();
    };
    expectPublic(await api.send('GET', '/v1/resources', { key }), code);
  });

  test('an unavailable service is not named', async () => {
    await api.servers.webhooks.stop(0);
    expectPublic(await api.send('GET', '/v1/webhooks', { key }), 'service_unavailable');
    expectPublic(await api.send('GET', '/v1/events', { key }), 'service_unavailable');
    await api.servers.auth.stop(0);
    expectPublic(await api.send('GET', '/v1/webhooks', { key: api.auth.newKey('read').value }), 'service_unavailable');
  });

  test('an error in the gateway itself', async () => {
    const limiter = createMemoryLimiter({
      rateLimitRequests: 0,
      workspaceRateLimitRequests: 0,
      rateLimitWindowSeconds: 60,
      monthlyQuota: 0,
      authFailureLimit: 0,
    });
    const broken = await startGateway({
      limiter: {
        ...limiter,
        check: async () => {
          throw new Error(inside);
        },
      },
    });
    const response = await broken.send('GET', '/v1/resources', { key: broken.auth.newKey('read').value });
    expectPublic(response, 'internal_error');
    const logged = broken.lines.find((line) => line.msg === 'request failed');
    expect(logged).toMatchObject({ request_id: response.headers['x-request-id'], level: 'error' });
    expect(JSON.stringify(logged)).toContain('relation');
    await broken.stop();
  });

  test.each(['\0\0\0', 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 'GET / HTTP/1.1\r\nbad\r\n\r\n'])(
    'malformed requests do not get the message of the parser (%#)',
    async (bytes) => {
      const { text } = parseResponse(await sendBytes(api.gateway.addresses.live, bytes));
      expect(text).not.toMatch(/HPE_|Parse Error|URIError|decode|\.js|stack/);
    },
  );
});
