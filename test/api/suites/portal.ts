import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { createApiClient, expectStatus } from '../support/api-client.ts';
import type { ApiKey, AuditEntry, ErrorBody, One, Page, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

interface Link {
  url: string;
  expires_at: string;
}

interface Session {
  token: string;
  workspace: string;
  environment: string;
  permissions: string[];
  expires_at: string;
  return_url: string | null;
  theme: { mode: string; primary_color: string | null; logo_url: string | null };
}

const path = '/v1/portal_sessions';
const logo = `data:image/png;base64,${Buffer.from('logo').toString('base64')}`;

export function portalSuite(target: () => Target): void {
  describe('Portal', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    const receiver = perSuite(startReceiver);

    const newLink = async (body: object = {}, by = client) =>
      expectStatus(await by.post<One<Link>>(path, body), 201).body.data;
    /** Returns a dashboard client, as portal pages call it. */
    const pageAt = (url: string, token = '') => {
      const { origin } = new URL(url);
      const requests = createApiClient(origin, '', undefined, target().shape.dispatcher);
      const headers = { Origin: origin, ...(token ? { 'X-Portal-Token': token } : {}) };
      return <T>(method: string, at: string, json?: unknown) =>
        requests.send<T>(method, at, { key: null, headers, ...(json === undefined ? {} : { json }) });
    };
    const open = (url: string) =>
      pageAt(url)<Session>('POST', '/api/portal/open', { token: new URL(url).hash.slice(1) });
    const opened = async (body: object = {}, by = client) => {
      const { url } = await newLink(body, by);
      const session = expectStatus(await open(url), 200).body;
      return { url, session, call: pageAt(url, session.token) };
    };
    const at = (rest: string, environment = 'live') => `/api/workspaces/${account.workspaceId}/${environment}${rest}`;
    const newKey = async (body: object) =>
      expectStatus(await client.post<One<ApiKey>>('/v1/api_keys', { name: 'embed', ...body }), 201).body.data;
    const isOver = async (call: ReturnType<typeof pageAt>) => {
      const { status, body } = await call<ErrorBody>('GET', '/api/portal');
      return status === 401 && body.error.code === 'portal_session_ended';
    };

    test('a link opens a session of its workspace and environment once, for an hour by default', async () => {
      const theme = { mode: 'dark', primary_color: '#0F766E', logo_url: logo };
      const startMs = Date.now();
      const { url, expires_at: expiresAt } = await newLink({ return_url: 'https://example.com/back', theme });
      expect(Math.abs(Date.parse(expiresAt) - startMs - 3_600_000)).toBeLessThan(60_000);
      expect(url).toMatch(/^https?:\/\/[^/]+\/portal#[\w-]{43}$/);
      const { token, ...session } = expectStatus(await open(url), 200).body;
      expect(session).toEqual({
        workspace: account.workspaceId,
        environment: 'live',
        permissions: ['webhooks:read', 'webhooks:write', 'deliveries:read', 'deliveries:write'],
        expires_at: expiresAt,
        return_url: 'https://example.com/back',
        theme,
      });
      expectStatus(await open(url), 404);
      expect((await pageAt(url, token)('GET', '/api/portal')).body).toEqual(session);
      expect((await newLink({ expires_in: 86_400 })).expires_at > expiresAt).toBe(true);
    });

    test('a session manages webhooks and their deliveries, and the audit log names its key', async () => {
      const { call } = await opened();
      const body = { url: receiver.url, events: ['*'] };
      const { data: webhook } = expectStatus(await call<One<Webhook>>('POST', at('/webhooks'), body), 201).body;
      const one = at(`/webhooks/${webhook.id}`);
      expectStatus(await call('PATCH', one, { description: 'changed' }), 200);
      expectStatus(await call('POST', `${one}/test`, {}), 200);
      expectStatus(await call('POST', `${one}/rotate_secret`, { overlap: 0 }), 200);
      for (const action of ['pause', 'resume']) expectStatus(await call('POST', `${one}/${action}`), 200);
      expectStatus(await client.post('/v1/resources', { name: 'Order' }), 201);
      const delivered = () =>
        call<Page<{ id: string }>>('GET', at(`/deliveries?webhook_id=${webhook.id}&status=delivered&test=false`));
      const delivery = await waitUntil(async () => (await delivered()).body.data[0], { what: 'a delivery' });
      expectStatus(await call('POST', at(`/deliveries/${delivery.id}/redeliver`)), 202);
      expectStatus(await call('DELETE', one), 204);
      const { data } = (await client.get<Page<AuditEntry>>(`/v1/audit_log?target_id=${webhook.id}`)).body;
      expect(data.length).toBeGreaterThan(4);
      for (const { actor, actor_name: name } of data) {
        expect([actor, name]).toEqual([expect.stringMatching(/^key:key_/), 'portal session of key admin key']);
      }
    });

    test('a session can do nothing else', async () => {
      const { call, session } = await opened();
      const refused = ['/resources', '/api_keys', '/members', '/audit_log', '/limits', '/workspace', '/requests'];
      for (const rest of [...refused, '/alert_rules', '/metrics/deliveries?from=2026-01-01T00:00:00Z']) {
        const { status } = await call('GET', at(rest));
        expect([rest, [403, 404].includes(status)]).toEqual([rest, true]);
      }
      for (const rest of ['/resources', '/api_keys']) expectStatus(await call('POST', at(rest), {}), 403);
      expectStatus(await call('GET', '/api/account'), 401);
      const other = (await newAccount(target())).workspaceId;
      for (const foreign of [at('/webhooks', 'sandbox'), `/api/workspaces/${other}/live/webhooks`]) {
        expectStatus(await call('GET', foreign), 404);
      }
      // Its token is no API key.
      for (const key of [session.token, null]) {
        const options = { key, headers: { 'X-Portal-Token': session.token } };
        expectStatus(await client.send('GET', '/v1/webhooks', options), 401);
        expectStatus(await client.send('POST', path, options), 401);
      }
    });

    test('a session ends at its time, and with its key', async () => {
      const expired = await opened({ expires_in: 1 });
      await waitUntil(() => isOver(expired.call), { what: 'the session to expire' });
      for (const end of [
        (id: string) => client.delete(`/v1/api_keys/${id}`),
        (id: string) => client.post(`/v1/api_keys/${id}/roll`, { overlap: 0 }),
      ]) {
        const { id, key = '' } = await newKey({ scope: 'admin' });
        const by = account.clientWith('live', key);
        const [{ call }, { url }] = [await opened({}, by), await newLink({}, by)];
        expect(await isOver(call)).toBe(false);
        expect((await end(id)).status).toBeLessThan(300);
        expect(await isOver(call)).toBe(true);
        expectStatus(await open(url), 404);
      }
    });

    test('a session has no permission that its key lacks', async () => {
      const { key = '' } = await newKey({ scope: 'restricted', permissions: ['webhooks:write'] });
      const { call, session } = await opened({}, account.clientWith('live', key));
      expect(session.permissions).toEqual(['webhooks:read', 'webhooks:write']);
      expectStatus(await call('GET', at('/webhooks')), 200);
      expectStatus(await call('GET', at('/deliveries')), 403);
      const { key: reader = '' } = await newKey({ scope: 'restricted', permissions: ['webhooks:read'] });
      expectStatus(await account.clientWith('live', reader).post(path, {}), 403);
    });

    test('a repeated Idempotency-Key returns the same link', async () => {
      const send = (body: object) => client.post<One<Link>>(path, body, { idempotencyKey: 'portal-once' });
      const first = expectStatus(await send({ expires_in: 600 }), 201);
      const second = expectStatus(await send({ expires_in: 600 }), 201);
      expect([second.body, second.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
      expectStatus(await send({ expires_in: 601 }), 422);
    });

    test('a portal session has a lifetime of up to a day, a safe return URL and a valid theme', async () => {
      for (const [body, field] of [
        [{ expires_in: 0 }, 'expires_in'],
        [{ expires_in: 86_401 }, 'expires_in'],
        [{ expires_in: '60' }, 'expires_in'],
        [{ return_url: 'javascript:alert(1)' }, 'return_url'],
        [{ return_url: 'http://example.com' }, 'return_url'],
        [{ return_url: 'https://user@example.com' }, 'return_url'],
        [{ return_url: '/back' }, 'return_url'],
        [{ theme: { mode: 'blue' } }, 'theme.mode'],
        [{ theme: { primary_color: 'red' } }, 'theme.primary_color'],
        [{ theme: { primary_color: '#fff;x:y' } }, 'theme.primary_color'],
        [{ theme: { logo_url: 'https://example.com/logo.png' } }, 'theme.logo_url'],
        [{ theme: { logo_url: 'data:text/html;base64,AAAA' } }, 'theme.logo_url'],
        [{ theme: { logo_url: `data:image/png;base64,${'A'.repeat(8_192)}` } }, 'theme.logo_url'],
      ] as const) {
        const { error } = expectStatus(await client.post<ErrorBody>(path, body), 400).body;
        expect([body, error.details?.map((detail) => detail.field)]).toEqual([body, [field]]);
      }
      expectStatus(await client.send('POST', path), 201);
      await newLink({ expires_in: 0.5 + 1, return_url: 'http://localhost:3000/back' });
    });
  });
}
