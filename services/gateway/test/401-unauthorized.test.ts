import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { waitUntil } from '@rms/testkit';
import { startGateway, type TestGateway } from './support/start-gateway.ts';
import { send } from './support/wire.ts';

describe('401 invalid_api_key and api_key_expired', () => {
  let api: TestGateway;
  beforeEach(async () => {
    api = await startGateway();
  });
  afterEach(() => api.stop());

  const get = async (key: string) => {
    const { status, body } = await api.send('GET', '/v1/resources', { key });
    return body.error?.code ?? status;
  };

  test('a missing key, a missing prefix and another scheme are refused without a look-up', async () => {
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
      const answer = await api.send('GET', '/v1/resources', { headers });
      expect([authorization, answer.status]).toEqual([authorization, 401]);
      expect(answer.body).toEqual({ error: { code: 'invalid_api_key', message: expect.any(String), status: 401 } });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    expect(api.auth.asked).toBe(0);
  });

  test('a typo, an unknown prefix and a key of the other environment are refused without a look-up', async () => {
    const { value } = api.auth.newKey('read');
    const sandbox = api.auth.newKey('read', { environment: 'sandbox' });
    const typo = value.slice(0, -1) + (value.endsWith('0') ? '1' : '0');
    for (const key of [typo, value.replace('live', 'prod'), `${value}0`, value.toLowerCase(), sandbox.value]) {
      expect(await get(key)).toBe('invalid_api_key');
    }
    const live = await send(api.gateway.addresses.sandbox, 'GET', '/v1/resources', { key: value });
    expect([live.status, live.body.error.code]).toEqual([401, 'invalid_api_key']);
    expect(api.auth.asked).toBe(0);
    expect((await send(api.gateway.addresses.sandbox, 'GET', '/v1/resources', { key: sandbox.value })).status).toBe(
      200,
    );
  });

  test('the name of the scheme is written in any case', async () => {
    const { value } = api.auth.newKey('read');
    const answer = await api.send('GET', '/v1/resources', { headers: { Authorization: `bearer ${value}` } });
    expect(answer.status).toBe(200);
  });

  test('a key that does not exist is asked about once: no key ever gets a value that was refused', async () => {
    const { value } = api.auth.newKey('read', { verdict: KeyVerdict.INVALID });
    for (let i = 0; i < 5; i += 1) expect(await get(value)).toBe('invalid_api_key');
    expect(api.auth.asked).toBe(1);
  });

  test('auth is asked once for a key in use, and once for keys that arrive together', async () => {
    const { value } = api.auth.newKey('read');
    await Promise.all(Array.from({ length: 30 }, () => get(value)));
    const { asked } = api.auth;
    await get(value);
    expect(api.auth.asked).toBe(asked);
    expect(api.auth.batches).toBeLessThan(30);
  });

  test('a key marked as revoked is refused at once, though its verdict is cached', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { verdict: KeyVerdict.INVALID });
    expect(await Promise.all(Array.from({ length: 5 }, () => get(key.value)))).toEqual(
      Array(5).fill('invalid_api_key'),
    );
  });

  test('a rolled key, marked too, is refused as expired', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { verdict: KeyVerdict.EXPIRED });
    expect(await get(key.value)).toBe('api_key_expired');
  });

  test('a key that was changed is asked about once, and used as it is now', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { allowedIps: ['192.0.2.1/32'] });
    expect(await get(key.value)).toBe('ip_not_allowed');
    await api.change(key, { allowedIps: ['127.0.0.1/32'] });
    expect(await get(key.value)).toBe(200);
    const { asked } = api.auth;
    expect(await get(key.value)).toBe(200);
    expect(api.auth.asked).toBe(asked);
  });

  test('a revoked key gets 401, not 403, for what it was never allowed', async () => {
    const key = api.auth.newKey('read');
    expect(await get(key.value)).toBe(200);
    await api.change(key, { verdict: KeyVerdict.INVALID });
    expect((await api.send('DELETE', '/v1/resources/res_x', { key: key.value })).status).toBe(401);
  });

  test('a verdict that was under way when the key was revoked is not kept', async () => {
    const key = api.auth.newKey('read');
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    api.auth.beforeAnswer = () => held;
    const first = get(key.value);
    await waitUntil(() => api.auth.asked === 1, { what: 'the look-up to be under way' });
    await api.change(key, { verdict: KeyVerdict.INVALID });
    release();
    expect(await first).toBe('invalid_api_key');
    expect(await get(key.value)).toBe('invalid_api_key');
  });

  test('a verdict is not kept past the expiry date of the key', async () => {
    const key = api.auth.newKey('read', { expiresAt: new Date(Date.now() + 1_000) });
    expect(await get(key.value)).toBe(200);
    key.verdict = KeyVerdict.EXPIRED;
    expect(await waitUntil(async () => (await get(key.value)) !== 200, { what: 'the end of the cached verdict' })).toBe(
      true,
    );
    expect(await get(key.value)).toBe('api_key_expired');
  });

  test('under /v1 the key comes before the path and the method', async () => {
    for (const [method, path] of [
      ['GET', '/v1'],
      ['GET', '/v1/nothing'],
      ['PUT', '/v1/resources'],
      ['OPTIONS', '/v1/resources'],
      ['GET', '/v1/resources/%zz'],
      ['POST', '/v1/resources'],
    ] as const) {
      const answer = await api.send(method, path, method === 'POST' ? { raw: '{' } : {});
      expect([method, path, answer.status]).toEqual([method, path, 401]);
    }
  });
});
