import { generateApiKey } from '@rms/base/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { perTest, waitUntil } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { send } from './support/wire.ts';

describe('401 invalid_api_key and api_key_expired', () => {
  const api = perTest(startGateway);

  const get = async (key: string) => {
    const { status, body } = await api.send('GET', '/v1/resources', { key });
    return body.error?.code ?? status;
  };

  test('a missing key, a missing prefix and another scheme are rejected without a lookup', async () => {
    const { value } = api.auth.newKey('read');
    for (const authorization of [
      undefined,
      '',
      value,
      `Basic ${value}`,
      `Bearer${value}`,
      'Bearer',
      `Bearer ${value} x`,
    ]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
      const response = await api.send('GET', '/v1/resources', { headers });
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(response.body).toEqual({ error: { code: 'invalid_api_key', message: expect.any(String), status: 401 } });
      expect(response.headers['www-authenticate']).toBe('Bearer');
    }
    expect(api.auth.lookups).toBe(0);
  });

  test('a typo, an unknown prefix and a key of the other environment are rejected without a lookup', async () => {
    const { value } = api.auth.newKey('read');
    const sandbox = api.auth.newKey('read', { environment: 'sandbox' });
    const typo = value.slice(0, -1) + (value.endsWith('0') ? '1' : '0');
    for (const key of [typo, value.replace('live', 'prod'), `${value}0`, value.toLowerCase(), sandbox.value]) {
      expect(await get(key)).toBe('invalid_api_key');
    }
    const live = await send(api.gateway.addresses.sandbox, 'GET', '/v1/resources', { key: value });
    expect([live.status, live.body.error.code]).toEqual([401, 'invalid_api_key']);
    expect(api.auth.lookups).toBe(0);
    expect((await send(api.gateway.addresses.sandbox, 'GET', '/v1/resources', { key: sandbox.value })).status).toBe(
      200,
    );
  });

  test('the message distinguishes the causes, and is the same for unknown and revoked keys', async () => {
    const { value } = api.auth.newKey('read');
    const sandbox = api.auth.newKey('read', { environment: 'sandbox' }).value;
    const revoked = api.auth.newKey('read', { verdict: KeyVerdict.INVALID }).value;
    const expired = api.auth.newKey('read', { verdict: KeyVerdict.EXPIRED }).value;
    const messageFor = async (Authorization?: string) =>
      (await api.send('GET', '/v1/resources', { headers: Authorization === undefined ? {} : { Authorization } })).body
        .error.message as string;
    const malformed = 'The API key is malformed. Check that it is complete, without typos, and starts with `sk_live_`.';
    const otherEnvironment =
      'A sandbox key (`sk_test_`) does not work here: this address serves the live environment. ' +
      'Use a key that starts with `sk_live_`, or the address of the sandbox environment.';
    const unknownOrRevoked = 'The API key does not exist or has been revoked.';
    const cases: [string | undefined, string][] = [
      [undefined, 'The Authorization header is missing. Send `Authorization: Bearer <API_KEY>`.'],
      [value, 'The Authorization header must have the form `Bearer <API_KEY>`.'],
      [`Basic ${value}`, 'The Authorization header must have the form `Bearer <API_KEY>`.'],
      [`Bearer ${value}0`, malformed],
      ['Bearer x', malformed],
      [`Bearer ${sandbox}`, otherEnvironment],
      // The prefix alone decides, so the message does not reveal whether a key exists.
      ['Bearer sk_test_x', otherEnvironment],
      [`Bearer ${generateApiKey('live')}`, unknownOrRevoked],
      [`Bearer ${revoked}`, unknownOrRevoked],
      // This response comes from the cache.
      [`Bearer ${revoked}`, unknownOrRevoked],
      [`Bearer ${expired}`, 'The API key was rolled or has expired. Use its successor, or create a new key.'],
    ];
    for (const [authorization, message] of cases) {
      expect([authorization, await messageFor(authorization)]).toEqual([authorization, message]);
    }
  });

  test('the authentication scheme is case-insensitive', async () => {
    const { value } = api.auth.newKey('read');
    const response = await api.send('GET', '/v1/resources', { headers: { Authorization: `bearer ${value}` } });
    expect(response.status).toBe(200);
  });

  test('an unknown key is looked up once, because it can never become valid', async () => {
    const { value } = api.auth.newKey('read', { verdict: KeyVerdict.INVALID });
    for (let i = 0; i < 5; i += 1) expect(await get(value)).toBe('invalid_api_key');
    expect(api.auth.lookups).toBe(1);
  });

  test('auth is not asked again for a cached key, and concurrent requests share lookups', async () => {
    const { value } = api.auth.newKey('read');
    await Promise.all(Array.from({ length: 30 }, () => get(value)));
    const { lookups } = api.auth;
    await get(value);
    expect(api.auth.lookups).toBe(lookups);
    expect(api.auth.batches).toBeLessThan(30);
  });

  test('a key with a revocation marker is rejected immediately, although its verdict is cached', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { verdict: KeyVerdict.INVALID });
    expect(await Promise.all(Array.from({ length: 5 }, () => get(key.value)))).toEqual(
      Array(5).fill('invalid_api_key'),
    );
  });

  test('a rolled key with a marker is rejected as expired', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { verdict: KeyVerdict.EXPIRED });
    expect(await get(key.value)).toBe('api_key_expired');
  });

  test('a changed key is looked up once and then used with its new properties', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { allowedIps: ['192.0.2.1/32'] });
    expect(await get(key.value)).toBe('ip_not_allowed');
    await api.change(key, { allowedIps: ['127.0.0.1/32'] });
    expect(await get(key.value)).toBe(200);
    const { lookups } = api.auth;
    expect(await get(key.value)).toBe(200);
    expect(api.auth.lookups).toBe(lookups);
  });

  test('a revoked key gets 401, not 403, even for an endpoint beyond its scope', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { verdict: KeyVerdict.INVALID });
    expect((await api.send('DELETE', '/v1/resources/res_x', { key: key.value })).status).toBe(401);
  });

  test('a verdict in flight when the key is revoked is not cached', async () => {
    const key = api.auth.newKey('read');
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    api.auth.beforeResponse = () => held;
    const first = get(key.value);
    await waitUntil(() => api.auth.lookups === 1, { what: 'the lookup to be in flight' });
    await api.change(key, { verdict: KeyVerdict.INVALID });
    release();
    expect(await first).toBe('invalid_api_key');
    expect(await get(key.value)).toBe('invalid_api_key');
  });

  test('a verdict is not cached beyond the expiry date of the key', async () => {
    const key = api.auth.newKey('read', { expiresAt: new Date(Date.now() + 1_000) });
    expect(await get(key.value)).toBe(200);
    key.verdict = KeyVerdict.EXPIRED;
    expect(await waitUntil(async () => (await get(key.value)) !== 200, { what: 'the end of the cached verdict' })).toBe(
      true,
    );
    expect(await get(key.value)).toBe('api_key_expired');
  });

  test('under /v1 authentication comes before path and method', async () => {
    for (const [method, path] of [
      ['GET', '/v1'],
      ['GET', '/v1/nothing'],
      ['PUT', '/v1/resources'],
      ['OPTIONS', '/v1/resources'],
      ['GET', '/v1/resources/%zz'],
      ['POST', '/v1/resources'],
    ] as const) {
      const response = await api.send(method, path, method === 'POST' ? { raw: '{' } : {});
      expect([method, path, response.status]).toEqual([method, path, 401]);
    }
  });
});
