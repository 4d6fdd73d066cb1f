import { dashboardUrl, type OidcScene, startOidcScene } from './oidc-support.ts';

let oidc: OidcScene;
beforeAll(async () => {
  oidc = await startOidcScene();
});
beforeEach(() => oidc.reset());
afterAll(() => oidc?.stop());

test('redirects to the provider and back, and signs in the user with this identity', async () => {
  const visit = await oidc.begin();
  expect(visit.attributes).toMatch(/^__Host-rms_oidc=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure$/);
  expect(visit.url.origin).toBe(oidc.issuer);
  const requested = Object.fromEntries(visit.url.searchParams);
  expect(requested).toMatchObject({
    client_id: 'rms',
    redirect_uri: `${dashboardUrl}/api/oidc/callback`,
    response_type: 'code',
    code_challenge_method: 'S256',
  });
  const back = await oidc.followCallback(visit);
  expect([back.status, back.headers.get('location')]).toEqual([302, '/w/ws_own/live/webhooks']);
  expect(oidc.tokenRequests[0]?.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
  const verified = oidc.dashboard.recorded.find(({ method }) => method === 'verifyIdentity');
  expect(verified?.request).toEqual({
    issuer: oidc.issuer,
    subject: 'subject-1',
    email: 'person@example.com',
    emailVerified: true,
  });
  const session = back.headers.getSetCookie().find((cookie) => cookie.startsWith('__Host-rms_session=')) ?? '';
  expect(session).toContain('SameSite=Strict');
  expect((await oidc.get('/api/account', session.split(';')[0])).status).toBe(200);
});

test('never redirects to another site', async () => {
  for (const next of [
    'https://evil.example.com/',
    '//evil.example.com',
    '/\\evil.example.com',
    'javascript:alert(1)',
    // Own paths that would point to another host after normalization.
    '/.//evil.example.com',
    '/x/..//evil.example.com',
    '/%2e//evil.example.com',
    '/\t/evil.example.com',
    '//',
    '/\\',
  ]) {
    oidc.claims = {};
    const back = await oidc.followCallback(await oidc.begin(next));
    expect(back.headers.get('location')).toBe('/');
  }
});

const signByAnother = () => {
  oidc.isForged = true;
};

test.each([
  ['another state', () => {}, { state: 'other' }],
  ['an error from the provider', () => {}, { error: 'access_denied', code: '' }],
  ['another nonce', () => Object.assign(oidc.claims, { nonce: 'other' }), {}],
  ['a token for another client', () => Object.assign(oidc.claims, { aud: 'other' }), {}],
  ['a token from another issuer', () => Object.assign(oidc.claims, { iss: 'https://other.example.com' }), {}],
  ['an expired token', () => Object.assign(oidc.claims, { exp: 1_000_000 }), {}],
  ['a token with another signature', signByAnother, {}],
] as const)('%s does not sign in', async (_, change, changes) => {
  const visit = await oidc.begin();
  change();
  const before = oidc.dashboard.recorded.length;
  const back = await oidc.followCallback(visit, changes);
  expect(back.headers.get('location')).toMatch(/^\/sign-in\?failed=req_/);
  expect(back.headers.getSetCookie().join()).not.toContain('rms_session');
  expect(oidc.dashboard.recorded.slice(before)).toEqual([]);
});

test('a callback in another browser does not sign in', async () => {
  const visit = await oidc.begin();
  const back = await oidc.followCallback({ ...visit, cookie: '' });
  expect(back.headers.get('location')).toMatch(/^\/sign-in\?failed=req_/);
});

test('visits of several tabs complete in any order, and the browser key outlives a break of an hour', async () => {
  const one = await oidc.begin('/w/ws_own/live/keys');
  const two = await oidc.begin('/w/ws_own/live/team', one.cookie);
  expect(two.cookie).toBe(one.cookie);
  expect(Number(/Max-Age=(\d+)/.exec(two.attributes)?.[1])).toBeGreaterThan(3_600);
  let { cookie } = two;
  for (const [visit, path] of [
    [two, '/w/ws_own/live/team'],
    [one, '/w/ws_own/live/keys'],
  ] as const) {
    oidc.claims = {};
    const back = await oidc.followCallback({ ...visit, cookie });
    expect(back.headers.get('location')).toBe(path);
    cookie =
      back.headers
        .getSetCookie()
        .find((one) => one.startsWith('__Host-rms_oidc='))
        ?.split(';')[0] ?? '';
  }
});

test('a reload of the callback, or going back to it, shows the page without a second sign-in', async () => {
  const visit = await oidc.begin();
  const done = await oidc.followCallback(visit);
  const cookie =
    done.headers
      .getSetCookie()
      .find((one) => one.startsWith('__Host-rms_oidc='))
      ?.split(';')[0] ?? '';
  const [tokens, calls] = [oidc.tokenRequests.length, oidc.dashboard.recorded.length];
  const again = await oidc.followCallback({ ...visit, cookie });
  expect([again.status, again.headers.get('location')]).toEqual([302, '/w/ws_own/live/webhooks']);
  expect(again.headers.getSetCookie()).toEqual([]);
  expect([oidc.tokenRequests.length, oidc.dashboard.recorded.length]).toEqual([tokens, calls]);
});

test.each([
  ['denied', (visit: { cookie: string }) => ({ visit, changes: { error: 'access_denied', code: '' } })],
  ['expired', (visit: { cookie: string }) => ({ visit: { ...visit, cookie: '' }, changes: {} })],
  ['expired', (visit: { cookie: string }) => ({ visit, changes: { state: 'other' } })],
])('a failure shows the reason %s and keeps the requested page', async (reason, given) => {
  const visit = await oidc.begin();
  const { changes } = given(visit);
  const back = await oidc.followCallback({ ...visit, ...given(visit).visit }, changes);
  const { searchParams } = new URL(back.headers.get('location') ?? '', dashboardUrl);
  expect(searchParams.get('reason')).toBe(reason);
  expect(searchParams.get('next')).toBe(reason === 'denied' ? '/w/ws_own/live/webhooks' : '/');
});

test('an unavailable provider leads to the sign-in page, not to an error document', async () => {
  const other = await oidc.startWith({ OIDC_ISSUER: 'http://127.0.0.1:1' });
  const sent = await oidc.get('/api/oidc/start', '', other);
  expect(sent.headers.get('location')).toMatch(/^\/sign-in\?failed=req_\w+&reason=unavailable&next=%2F$/);
  await other.stop();
});
