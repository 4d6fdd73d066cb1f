import { perSuite, waitUntil } from '@rms/testkit';
import type { ApiClient } from '../support/api-client.ts';
import type { ErrorBody, NewKey } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function authenticationSuite(target: () => Target): void {
  describe('Authentication', () => {
    const account = perSuite(() => newAccount(target()));
    const live = perSuite(() => account.client('live', 'admin'));
    const sandbox = perSuite(() => account.client('test', 'admin'));

    const refusal = async (client: ApiClient, headers: Record<string, string>) => {
      const response = await client.get<ErrorBody>('/v1/resources', { key: null, headers });
      return { status: response.status, code: response.body.error?.code };
    };

    test('the message of a 401 names the cause', async () => {
      const messageFor = async (client: ApiClient, headers: Record<string, string>) =>
        (await client.get<ErrorBody>('/v1/resources', { key: null, headers })).body.error.message;
      const revoked = await account.newKey('live', 'read');
      await account.rms('keys', 'revoke', revoked.id);
      expect(await messageFor(live, {})).toMatch(/^The Authorization header is missing\./);
      expect(await messageFor(live, { authorization: live.key })).toMatch(/must have the form `Bearer <API_KEY>`/);
      expect(await messageFor(live, { authorization: `Bearer ${live.key}x` })).toMatch(/^The API key is malformed\./);
      expect(await messageFor(live, { authorization: `Bearer ${sandbox.key}` })).toMatch(/^A sandbox key/);
      expect(await messageFor(sandbox, { authorization: `Bearer ${live.key}` })).toMatch(/^A live key/);
      expect(await messageFor(live, { authorization: `Bearer ${revoked.key}` })).toMatch(
        /does not exist or has been revoked/,
      );
    });

    test('a request without a key gets 401 invalid_api_key', async () => {
      expect(await refusal(live, {})).toEqual({ status: 401, code: 'invalid_api_key' });
      expect(await refusal(live, { authorization: '' })).toEqual({ status: 401, code: 'invalid_api_key' });
    });

    test('a key without the prefix Bearer gets 401 invalid_api_key', async () => {
      for (const authorization of [live.key, `Token ${live.key}`, `Basic ${live.key}`, `Bearer${live.key}`]) {
        expect(await refusal(live, { authorization })).toEqual({ status: 401, code: 'invalid_api_key' });
      }
    });

    test('a malformed key gets 401 invalid_api_key', async () => {
      const typo = live.key.slice(0, -1) + (live.key.endsWith('a') ? 'b' : 'a');
      for (const key of [
        'x',
        'sk_live_',
        typo,
        `${live.key}x`,
        live.key.toUpperCase(),
        'sk_live_%00',
        `${live.key} x`,
      ]) {
        expect(await refusal(live, { authorization: `Bearer ${key}` })).toEqual({
          status: 401,
          code: 'invalid_api_key',
        });
      }
    });

    test('a key that does not exist gets 401 invalid_api_key', async () => {
      const key = `sk_live_${'A1b2'.repeat(9)}zz`;
      expect(await refusal(live, { authorization: `Bearer ${key}` })).toEqual({ status: 401, code: 'invalid_api_key' });
    });

    test('an authentication error has exactly the fields code, message and status', async () => {
      const response = await live.get<ErrorBody>('/v1/resources', { key: null });
      expect(response.body).toEqual({
        error: { code: 'invalid_api_key', message: expect.any(String), status: 401 },
      });
    });

    test('every endpoint requires a key', async () => {
      const endpoints = target().contract.operations;
      expect(endpoints.length).toBeGreaterThanOrEqual(8);
      for (const endpoint of endpoints) {
        const [method, template] = endpoint.split(' ') as [string, string];
        const path = template.replace(/\{[^}]+\}/, 'res_unknown');
        const response = await live.send<ErrorBody>(method, path, {
          key: null,
          ...(method === 'POST' || method === 'PATCH' ? { json: {} } : {}),
        });
        expect([endpoint, response.status, response.body.error.code]).toEqual([endpoint, 401, 'invalid_api_key']);
      }
    });

    test('keys for production start with sk_live_, keys for the sandbox with sk_test_', () => {
      expect(live.key).toMatch(/^sk_live_[0-9A-Za-z]{38}$/);
      expect(sandbox.key).toMatch(/^sk_test_[0-9A-Za-z]{38}$/);
    });

    test('a key in the wrong environment gets 401 invalid_api_key', async () => {
      expect(await refusal(live, { authorization: `Bearer ${sandbox.key}` })).toEqual({
        status: 401,
        code: 'invalid_api_key',
      });
      expect(await refusal(sandbox, { authorization: `Bearer ${live.key}` })).toEqual({
        status: 401,
        code: 'invalid_api_key',
      });
    });

    test('a key has a name, a scope, an optional expiry date and an optional IP allowlist', async () => {
      const plain = await account.newKey('live', 'read');
      expect(plain).toMatchObject({ environment: 'live', scope: 'read', name: 'read key', expires_at: null });
      expect(plain.allowed_ips).toEqual([]);
      const full = await account.newKey('test', 'write', '--expires-in', '30d', '--allow-ip', '192.0.2.0/24');
      expect(full).toMatchObject({ environment: 'sandbox', scope: 'write', allowed_ips: ['192.0.2.0/24'] });
      const days = (Date.parse(full.expires_at ?? '') - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(29);
      expect(days).toBeLessThanOrEqual(30);
    });

    test('the value of a key is shown only once, at its creation', async () => {
      const created = await account.newKey('live', 'read');
      const listed = JSON.stringify(await account.rms('keys', 'list'));
      expect(listed).toContain(created.id);
      expect(listed).not.toContain(created.key);
    });

    test('a workspace can have several keys', async () => {
      const keys = [await account.newKey('live', 'read'), await account.newKey('live', 'read')];
      for (const { key } of keys) expect((await live.get('/v1/resources', { key })).status).toBe(200);
    });

    test('a revoked key gets 401 invalid_api_key from the moment the revocation response is sent', async () => {
      const { id, key } = await account.newKey('live', 'read');
      for (let i = 0; i < 5; i++) expect((await live.get('/v1/resources', { key })).status).toBe(200);
      await account.rms('keys', 'revoke', id);
      const responses = await Promise.all(
        Array.from({ length: 10 }, () => live.get<ErrorBody>('/v1/resources', { key })),
      );
      for (const { status, body } of responses) {
        expect({ status, code: body.error.code }).toEqual({ status: 401, code: 'invalid_api_key' });
      }
    });

    test('a rolled key gets 401 api_key_expired immediately, and the new one works', async () => {
      const { id, key } = await account.newKey('live', 'write');
      expect((await live.get('/v1/resources', { key })).status).toBe(200);
      const rolled = await account.rms<NewKey>('keys', 'roll', id, '--overlap', '0s');
      const { status, body } = await live.get<ErrorBody>('/v1/resources', { key });
      expect({ status, code: body.error.code }).toEqual({ status: 401, code: 'api_key_expired' });
      expect(rolled).toMatchObject({ environment: 'live', scope: 'write', name: 'write key' });
      expect((await live.get('/v1/resources', { key: rolled.key })).status).toBe(200);
    });

    test('a key rolled with an overlap works until the overlap ends, then gets api_key_expired', async () => {
      const { id, key } = await account.newKey('live', 'read');
      const rolled = await account.rms<NewKey>('keys', 'roll', id, '--overlap', '3s');
      expect((await live.get('/v1/resources', { key })).status).toBe(200);
      await waitUntil(async () => (await live.get('/v1/resources', { key })).status === 401, {
        what: 'the old key to expire at the end of its overlap',
      });
      expect((await live.get<ErrorBody>('/v1/resources', { key })).body.error.code).toBe('api_key_expired');
      expect((await live.get('/v1/resources', { key: rolled.key })).status).toBe(200);
    });

    test('a key past its expiry date gets 401 api_key_expired', async () => {
      const { key } = await account.newKey('live', 'read', '--expires-in', '3s');
      expect((await live.get('/v1/resources', { key })).status).toBe(200);
      await waitUntil(async () => (await live.get('/v1/resources', { key })).status === 401, {
        what: 'the key to expire',
      });
      expect((await live.get<ErrorBody>('/v1/resources', { key })).body.error.code).toBe('api_key_expired');
    });

    test('a request from an address outside the allowlist of the key is rejected with 403', async () => {
      const { key } = await account.newKey('live', 'read', '--allow-ip', '192.0.2.7');
      const { status, body } = await live.get<ErrorBody>('/v1/resources', { key });
      expect({ status, code: body.error.code }).toEqual({ status: 403, code: 'ip_not_allowed' });
      const spoofed = await live.get('/v1/resources', { key, headers: { 'x-forwarded-for': '192.0.2.7' } });
      expect(spoofed.status).toBe(403);
    });

    test('a request from an address inside the allowlist of the key is accepted', async () => {
      const { clientNetwork = '127.0.0.0/8' } = target().shape;
      const { key } = await account.newKey('live', 'read', '--allow-ip', '192.0.2.7', '--allow-ip', clientNetwork);
      expect((await live.get('/v1/resources', { key })).status).toBe(200);
    });
  });
}
