import { newId } from '@rms/base/ids';
import { may, portalPermissions, roles } from '@rms/base/roles';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { type Endpoint, pathOf } from '../src/routes/endpoint.ts';
import { endpoints } from '../src/routes/endpoints.ts';
import { codeOf, ownWorkspace, portalToken, startDashboard, type TestDashboard } from './support.ts';

/** Valid body for every endpoint that has one. The test fails if one is missing. */
const bodies: Readonly<Record<string, object>> = {
  'POST /api/sign-in': { email: 'a@example.com', password: 'x' },
  'POST /api/sign-in/second-factor': { code: '1' },
  'POST /api/password-reset/request': { email: 'a@example.com' },
  'POST /api/password-reset': { token: 't', password: 'x' },
  'POST /api/invitation/find': { token: 't' },
  'POST /api/invitation/accept': { token: 't', name: '', password: 'x' },
  'PATCH /api/account': { name: 'A' },
  'POST /api/account/password': { current_password: 'x', password: 'y' },
  'POST /api/account/email': { email: 'b@example.com', password: 'x', code: '' },
  'POST /api/account/delete': { password: 'x', code: '' },
  'POST /api/account/identities/unlink': { issuer: 'https://id.example.com', password: 'x', code: '' },
  'POST /api/email-change': { token: 't' },
  'POST /api/account/second-factor/begin': { password: 'x' },
  'POST /api/account/second-factor/confirm': { code: '1' },
  'POST /api/account/second-factor/recovery-codes': { code: '1' },
  'POST /api/account/second-factor/remove': { code: '1' },
  'POST /api/account/invitation': { token: 't' },
  'POST /api_keys': { name: 'k', scope: 'read' },
  'PATCH /api_keys/{id}': { name: 'k' },
  'POST /api_keys/{id}/roll': { overlap: 0 },
  'POST /webhooks': { url: 'https://example.com', events: ['*'] },
  'PATCH /webhooks/{id}': { status: 'disabled' },
  'POST /webhooks/filter_test': { filter: { all: [{ field: 'name', op: 'exists' }] }, event: {} },
  'POST /webhooks/{id}/test': { event_type: 'resource.created' },
  'POST /webhooks/{id}/rotate_secret': { overlap: 0 },
  'PUT /webhooks/{id}/client_certificate': { certificate: 'c', private_key: 'k' },
  'POST /deliveries/redeliver': { ids: ['dlv_1'] },
  'POST /replays': {
    webhook_id: 'wh_1',
    created_after: '2026-01-01T00:00:00Z',
    dry_run: true,
    statuses: ['failed'],
    rate_per_second: 1,
  },
  'POST /resources': { name: 'r', metadata: {} },
  'PATCH /resources/{id}': { name: 'r' },
  'PATCH /members/{id}': { role: 'viewer' },
  'PUT /alert_rules/{kind}': { enabled: false },
  'POST /incidents/{id}/mute': { until: null },
  'POST /alert_channels': { type: 'pagerduty', name: 'n', routing_key: 'r' },
  'PATCH /alert_channels/{id}': { name: 'n' },
  'POST /api/unsubscribe/find': { token: 't' },
  'POST /api/unsubscribe': { token: 't' },
  'POST /api/unsubscribe/undo': { token: 't' },
  'POST /api/alert-recipient/find': { token: 't' },
  'POST /api/alert-recipient': { token: 't' },
  'POST /api/portal/open': { token: 't' },
  'POST /invitations': { email: 'a@example.com', role: 'viewer' },
};

/** Query of the endpoints that require one. */
const queries: Readonly<Record<string, string>> = {
  'GET /metrics/requests': '?from=2026-01-02T00:00:00Z&granularity=day',
  'GET /metrics/deliveries': '?from=2026-01-02T00:00:00Z&granularity=day',
};

const nameOf = ({ method, path }: Endpoint) => `${method.toUpperCase()} ${path}`;
const isChange = ({ method }: Endpoint) => method !== 'get';
const isOpen = ({ access }: Endpoint) => access === 'open';
const isTenant = ({ access }: Endpoint) => access !== 'open' && access !== 'account';

/** IDs by the path's beginning. */
const ids: readonly (readonly [string, string])[] = [
  ['/incidents', newId('inc')],
  ['/alert_channels', newId('chn')],
  ['/api_keys', newId('key')],
  ['/deliveries', newId('dlv')],
  ['/events', newId('evt')],
  ['/invitations', newId('inv')],
  ['/members', newId('usr')],
  ['/replays', newId('rpl')],
  ['/resources', newId('res')],
  ['/webhooks', newId('wh')],
  ['/', 'other'],
];

function urlOf(endpoint: Endpoint, workspace = ownWorkspace, environment = 'live'): string {
  const [, id = ''] = ids.find(([start]) => endpoint.path.startsWith(start)) ?? [];
  const path = pathOf(endpoint)
    .replace('{workspace}', workspace)
    .replace('{environment}', environment)
    .replace('{id}', id)
    .replace('{kind}', 'quota')
    .replace('{request_id}', newId('req'));
  return path + (queries[nameOf(endpoint)] ?? '');
}

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await startDashboard();
});
beforeEach(() => {
  dashboard.account.workspaces = { [ownWorkspace]: RoleMessage.OWNER };
});
afterAll(() => dashboard.stop());

const unlisted = ['checkSession', 'checkPortalSession', 'batchReportRequests'];
/** Returns the calls to services after the first `count`, except session checks and reports to the request log. */
const callsSince = (count: number) =>
  dashboard.recorded.slice(count).filter(({ method }) => !unlisted.includes(method));

/** Sends a request as a portal page does. */
const ofPortal = (endpoint: Endpoint, url: string, headers: Record<string, string> = {}) => {
  const body = bodies[nameOf(endpoint)];
  return fetch(dashboard.url + url, {
    method: endpoint.method.toUpperCase(),
    headers: {
      Origin: dashboard.url,
      'X-Portal-Token': portalToken,
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      ...headers,
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
};

test('every endpoint with a body has a sample', () => {
  expect(
    endpoints
      .filter(({ body }) => body)
      .map(nameOf)
      .sort(),
  ).toEqual(Object.keys(bodies).sort());
});

test('the body of an endpoint without a session has at most 8 KiB', async () => {
  for (const endpoint of endpoints.filter((one) => isOpen(one) && one.body)) {
    const statusOf = async (length: number) => {
      const body = JSON.stringify(bodies[nameOf(endpoint)]).padEnd(length);
      const headers = { Origin: dashboard.url, 'Content-Type': 'application/json' };
      return (await fetch(dashboard.url + urlOf(endpoint), { method: 'POST', headers, body })).status;
    };
    expect([nameOf(endpoint), await statusOf(8 * 1024 + 1)]).toEqual([nameOf(endpoint), 413]);
    expect([nameOf(endpoint), await statusOf(8 * 1024)]).not.toEqual([nameOf(endpoint), 413]);
  }
});

/** All but reads without a session. */
const guarded = endpoints.filter((endpoint) => !isOpen(endpoint) || isChange(endpoint));

describe.each(guarded.map((endpoint) => [nameOf(endpoint), endpoint] as const))('%s', (name, endpoint) => {
  const method = endpoint.method.toUpperCase();
  const body = bodies[name];
  const given = body === undefined ? {} : { body };

  if (!isOpen(endpoint)) {
    test('401 without a session', async () => {
      const before = dashboard.recorded.length;
      const response = await fetch(dashboard.url + urlOf(endpoint), { method, headers: { Origin: dashboard.url } });
      expect(response.status).toBe(401);
      expect(await codeOf(response)).toBe('not_signed_in');
      expect(callsSince(before)).toEqual([]);
    });
  }
  if (isChange(endpoint)) {
    test('403 for a request from another site, regardless of cookies', async () => {
      const browser = await dashboard.signIn();
      const before = dashboard.recorded.length;
      for (const headers of [
        { Origin: 'https://evil.example.com' },
        { Origin: 'null' },
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { Origin: '' },
      ]) {
        const response = await browser.send(method, urlOf(endpoint), { ...given, headers });
        expect([response.status, await codeOf(response)]).toEqual([403, 'cross_site_request']);
      }
      expect(callsSince(before)).toEqual([]);
    });
  }
  if (isChange(endpoint) && !isOpen(endpoint)) {
    test("403 without the session's token", async () => {
      const browser = await dashboard.signIn();
      const other = await dashboard.signIn();
      const before = dashboard.recorded.length;
      for (const token of ['', 'x', other.csrfToken]) {
        const response = await browser.send(method, urlOf(endpoint), { ...given, headers: { 'X-CSRF-Token': token } });
        expect([response.status, await codeOf(response)]).toEqual([403, 'session_changed']);
      }
      expect(callsSince(before)).toEqual([]);
    });
  }
  if (!isOpen(endpoint)) {
    const isOfPortal = portalPermissions.includes(endpoint.access as never);
    test(`${isOfPortal ? 'served' : 'refused'} in a portal session`, async () => {
      const { cookie, csrfToken } = await dashboard.signIn();
      const signedIn = dashboard.recorded.length;
      // The browser's session does not add permissions.
      const headers = { Cookie: cookie, 'X-CSRF-Token': csrfToken };
      const response = await ofPortal(endpoint, urlOf(endpoint, ownWorkspace, 'sandbox'), headers);
      if (!isOfPortal) {
        const expected = isTenant(endpoint) ? [403, 'insufficient_scope'] : [401, 'not_signed_in'];
        expect([response.status, await codeOf(response)]).toEqual(expected);
        expect(callsSince(signedIn)).toEqual([]);
        return;
      }
      await response.body?.cancel();
      expect([401, 403, 404]).not.toContain(response.status);
      const requested = callsSince(signedIn);
      expect(requested.length).toBeGreaterThan(0);
      for (const { options } of requested) {
        // The session acts for its key in its own tenant.
        expect(options).toMatchObject({
          context: {
            principal: { workspaceId: ownWorkspace, environment: 2, keyId: 'key_1' },
            actorName: 'portal session of key embed',
          },
        });
        expect(options).not.toMatchObject({ context: { actor: expect.anything() } });
      }
    });
  }
  if (isTenant(endpoint)) {
    test('404 in a portal session of another workspace or environment, 401 in an ended one', async () => {
      const before = dashboard.recorded.length;
      for (const url of [urlOf(endpoint, 'ws_other', 'sandbox'), urlOf(endpoint), urlOf(endpoint, ownWorkspace, 'x')]) {
        const response = await ofPortal(endpoint, url);
        expect([response.status, await codeOf(response)]).toEqual([404, 'not_found']);
      }
      for (const token of ['', 'x', 'q'.repeat(43)]) {
        const response = await ofPortal(endpoint, urlOf(endpoint), { 'X-Portal-Token': token });
        expect([response.status, await codeOf(response)]).toEqual([401, 'portal_session_ended']);
      }
      expect(callsSince(before)).toEqual([]);
    });

    test('404 for a workspace the user does not belong to, and for an unknown environment', async () => {
      const browser = await dashboard.signIn();
      const before = dashboard.recorded.length;
      for (const url of [
        urlOf(endpoint, 'ws_other'),
        urlOf(endpoint, ownWorkspace, 'test'),
        urlOf(endpoint, ownWorkspace, 'constructor'),
      ]) {
        const response = await browser.send(method, url, given);
        expect([response.status, await codeOf(response)]).toEqual([404, 'not_found']);
      }
      expect(callsSince(before)).toEqual([]);
    });

    test.each(roles)('as %s: 403 unless the role has the permission', async (role) => {
      const browser = await dashboard.signIn();
      dashboard.account.workspaces = { [ownWorkspace]: RoleMessage[role.toUpperCase() as 'OWNER'] };
      const before = dashboard.recorded.length;
      const response = await browser.send(method, urlOf(endpoint, ownWorkspace, 'sandbox'), given);
      if (!may(role, endpoint.access as never)) {
        expect([response.status, await codeOf(response)]).toEqual([403, 'insufficient_role']);
        expect(callsSince(before)).toEqual([]);
        return;
      }
      expect(response.status).not.toBe(403);
      const requested = callsSince(before);
      expect(requested.length).toBeGreaterThan(0);
      for (const { request, options } of requested) {
        const text = JSON.stringify([request, options], (_, value) =>
          typeof value === 'bigint' ? String(value) : value,
        );
        expect(text).toContain(`"workspaceId":"${ownWorkspace}"`);
        expect(text).not.toContain('ws_other');
        // The context contains the user as actor, the browser's address, and the tenant of this request.
        const context = { actor: 'user:usr_1', actorName: 'person@example.com', clientAddress: '127.0.0.1' };
        expect(options).toMatchObject({ context });
        expect(options).toMatchObject({ context: { principal: { workspaceId: ownWorkspace, environment: 2 } } });
      }
    });
  }
});
