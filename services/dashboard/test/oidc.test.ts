import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { startDashboard, type TestDashboard } from './support.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const forged = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const dashboardUrl = 'https://dashboard.example.com';

/** OpenID Connect provider whose claims each test sets. */
let provider: Server;
let issuer: string;
let claims: Record<string, unknown>;
let signingKey = privateKey;
let tokenRequests: URLSearchParams[];
/** Claims of UserInfo; a number: the status of an error response. */
let userInfo: Record<string, unknown> | number;
/** Whether the claims of the ID token get an email address. */
let hasEmail: boolean;
let authorizations: (string | undefined)[];
let authMethods: string[];
/** Whether auth refuses the identity. */
let isRefused: boolean;
let dashboard: TestDashboard;

beforeAll(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      if (request.url === '/userinfo' && typeof userInfo === 'number') response.statusCode = userInfo;
      authorizations.push(request.headers.authorization);
      response.end(JSON.stringify(respond(request.url ?? '', Buffer.concat(chunks).toString())));
    });
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  authorizations = [];
  authMethods = ['client_secret_basic', 'client_secret_post'];
  dashboard = await startWith({});
});

function startWith(env: Record<string, string>): Promise<TestDashboard> {
  const settings = {
    DASHBOARD_URL: dashboardUrl,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: 'rms',
    OIDC_CLIENT_SECRET: 'secret of the client',
    ...env,
  };
  const user = { id: 'usr_1', email: 'person@example.com', name: '', sessionGeneration: 1n };
  const { SIGNED_IN, REFUSED } = SignInOutcome;
  return startDashboard(settings, {
    verifyIdentity: () => ({ result: isRefused ? { outcome: REFUSED } : { outcome: SIGNED_IN, user } }),
  });
}
beforeEach(() => {
  claims = {};
  signingKey = privateKey;
  tokenRequests = [];
  userInfo = {};
  hasEmail = true;
  authorizations = [];
  isRefused = false;
});
afterAll(async () => {
  await dashboard.stop();
  provider.close();
  await once(provider, 'close');
});

function respond(url: string, body: string): object {
  if (url === '/.well-known/openid-configuration') {
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      token_endpoint_auth_methods_supported: authMethods,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    };
  }
  if (url === '/jwks')
    return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] };
  if (url === '/userinfo') return typeof userInfo === 'number' ? {} : { sub: 'subject-1', ...userInfo };
  tokenRequests.push(new URLSearchParams(body));
  return { access_token: 'access', token_type: 'Bearer', id_token: idToken() };
}

function idToken(): string {
  const now = Math.floor(Date.now() / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = { iss: issuer, aud: 'rms', sub: 'subject-1', iat: now, exp: now + 60, ...claims };
  const text = `${part({ alg: 'RS256', kid: 'k' })}.${part(payload)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(signingKey, 'base64url')}`;
}

const get = (path: string, cookie = '', { url } = dashboard) =>
  fetch(url + path, { redirect: 'manual', headers: cookie ? { Cookie: cookie } : {} });

/** Starts the sign-in. Returns the redirect URL and the cookie. */
async function begin(next = '/w/ws_own/live/webhooks', before = '', at = dashboard) {
  const sent = await get(`/api/oidc/start?${new URLSearchParams({ next })}`, before, at);
  expect(sent.status).toBe(302);
  const [cookie = ''] = sent.headers.getSetCookie();
  return { url: new URL(sent.headers.get('location') ?? ''), cookie: cookie.split(';')[0] ?? '', attributes: cookie };
}

async function followCallback(
  visit: Awaited<ReturnType<typeof begin>>,
  changes: Record<string, string> = {},
  at = dashboard,
) {
  const email = hasEmail ? { email: 'person@example.com', email_verified: true } : {};
  claims = { ...email, ...claims, nonce: claims.nonce ?? visit.url.searchParams.get('nonce') };
  const given = { code: 'code-1', state: visit.url.searchParams.get('state') ?? '', ...changes };
  return get(`/api/oidc/callback?${new URLSearchParams(given)}`, visit.cookie, at);
}

/** Signs in; returns the identity that auth was asked about, and the reason of a failure. */
async function identify(at = dashboard) {
  const back = await followCallback(await begin('/', '', at), {}, at);
  const { request } = at.recorded.findLast(({ method }) => method === 'verifyIdentity') ?? {};
  const { searchParams } = new URL(back.headers.get('location') ?? '', dashboardUrl);
  return { identity: request as Record<string, unknown>, reason: searchParams.get('reason') };
}

test('redirects to the provider and back, and signs in the user with this identity', async () => {
  const visit = await begin();
  expect(visit.attributes).toMatch(/^__Host-rms_oidc=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure$/);
  expect(visit.url.origin).toBe(issuer);
  const requested = Object.fromEntries(visit.url.searchParams);
  expect(requested).toMatchObject({
    client_id: 'rms',
    redirect_uri: `${dashboardUrl}/api/oidc/callback`,
    response_type: 'code',
    code_challenge_method: 'S256',
  });
  const back = await followCallback(visit);
  expect([back.status, back.headers.get('location')]).toEqual([302, '/w/ws_own/live/webhooks']);
  expect(tokenRequests[0]?.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
  const verified = dashboard.recorded.find(({ method }) => method === 'verifyIdentity');
  expect(verified?.request).toEqual({
    issuer,
    subject: 'subject-1',
    email: 'person@example.com',
    emailVerified: true,
  });
  const session = back.headers.getSetCookie().find((cookie) => cookie.startsWith('__Host-rms_session=')) ?? '';
  expect(session).toContain('SameSite=Strict');
  expect((await get('/api/account', session.split(';')[0])).status).toBe(200);
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
    claims = {};
    const back = await followCallback(await begin(next));
    expect(back.headers.get('location')).toBe('/');
  }
});

const signByAnother = () => {
  signingKey = forged;
};

test.each([
  ['another state', () => {}, { state: 'other' }],
  ['an error from the provider', () => {}, { error: 'access_denied', code: '' }],
  ['another nonce', () => Object.assign(claims, { nonce: 'other' }), {}],
  ['a token for another client', () => Object.assign(claims, { aud: 'other' }), {}],
  ['a token from another issuer', () => Object.assign(claims, { iss: 'https://other.example.com' }), {}],
  ['an expired token', () => Object.assign(claims, { exp: 1_000_000 }), {}],
  ['a token with another signature', signByAnother, {}],
] as const)('%s does not sign in', async (_, change, changes) => {
  const visit = await begin();
  change();
  const before = dashboard.recorded.length;
  const back = await followCallback(visit, changes);
  expect(back.headers.get('location')).toMatch(/^\/sign-in\?failed=req_/);
  expect(back.headers.getSetCookie().join()).not.toContain('rms_session');
  expect(dashboard.recorded.slice(before)).toEqual([]);
});

test('a callback in another browser does not sign in', async () => {
  const visit = await begin();
  const back = await followCallback({ ...visit, cookie: '' });
  expect(back.headers.get('location')).toMatch(/^\/sign-in\?failed=req_/);
});

test.each([
  ['only at UserInfo, as from Authelia, Zitadel and Okta,', { email: 'person@example.com', email_verified: true }, {}],
  [
    'only at UserInfo and verified as text, as from Cognito,',
    { email: 'person@example.com', email_verified: 'true' },
    {},
  ],
  ['verified only at UserInfo', { email: 'Person@example.com', email_verified: true }, { email: 'person@example.com' }],
  ['verified as text', {}, { email: 'person@example.com', email_verified: 'True' }],
])('an email address %s is verified', async (_, atUserInfo, inToken) => {
  hasEmail = false;
  userInfo = atUserInfo;
  claims = inToken;
  const { identity, reason } = await identify();
  expect([identity, reason]).toEqual([
    { issuer, subject: 'subject-1', email: 'person@example.com', emailVerified: true },
    null,
  ]);
});

test('UserInfo is not read if the ID token has the email address', async () => {
  await identify();
  expect(authorizations).not.toContain('Bearer access');
  hasEmail = false;
  claims = {};
  await identify();
  expect(authorizations).toContain('Bearer access');
});

test.each([
  ['no address', {}, {}, 'email_missing'],
  ['no verification', {}, { email: 'person@example.com' }, 'email_unverified'],
  ['an address that is not verified', {}, { email: 'person@example.com', email_verified: false }, 'email_unverified'],
  ['"false"', {}, { email: 'person@example.com', email_verified: 'false' }, 'email_unverified'],
  ['a number', {}, { email: 'person@example.com', email_verified: 1 }, 'email_unverified'],
  [
    'the verification of another address',
    { email: 'other@example.com', email_verified: true },
    { email: 'person@example.com' },
    'email_unverified',
  ],
  [
    'claims of another subject',
    { sub: 'other', email: 'person@example.com', email_verified: true },
    {},
    'email_missing',
  ],
  ['no UserInfo', 500, {}, 'email_missing'],
  ['a verified address without an account', {}, { email: 'new@example.com', email_verified: true }, 'no_account'],
])('with %s, the page and the log name what is missing', async (_, atUserInfo, inToken, reason) => {
  hasEmail = false;
  userInfo = atUserInfo;
  claims = inToken;
  isRefused = true;
  const before = dashboard.lines.length;
  const found = await identify();
  expect([found.identity.emailVerified, found.reason]).toEqual([reason === 'no_account', reason]);
  const logged = dashboard.lines.slice(before).join('');
  expect(logged).toContain(`"reason":"${reason}"`);
  expect(logged).toContain('"claims":["');
  expect(logged).not.toContain('password');
  expect(logged).not.toMatch(/(person|new|other)@example/);
});

test('a linked identity signs in without an email address, whatever UserInfo responds', async () => {
  hasEmail = false;
  for (userInfo of [{}, 503, { sub: 'other' }]) {
    claims = {};
    expect(await identify()).toMatchObject({ identity: { email: '', emailVerified: false }, reason: null });
  }
});

describe('With other claims', () => {
  const withSettings = async (env: Record<string, string>, tests: [object, object][]) => {
    const other = await startWith(env);
    try {
      for (const [given, expected] of tests) {
        claims = { ...given };
        hasEmail = false;
        expect([given, (await identify(other)).identity]).toMatchObject([given, expected]);
      }
    } finally {
      await other.stop();
    }
  };

  test('OIDC_EMAIL_TRUST accepts an address without email_verified, as from Entra ID, and no address that is not verified', () =>
    withSettings({ OIDC_EMAIL_TRUST: 'true' }, [
      [{ email: 'a@example.com' }, { email: 'a@example.com', emailVerified: true }],
      [{ email: 'a@example.com', email_verified: false }, { emailVerified: false }],
      [{ email: 'a@example.com', email_verified: 'false' }, { emailVerified: false }],
      [{}, { email: '', emailVerified: false }],
    ]));

  test('OIDC_EMAIL_CLAIM names the claim, and email_verified applies only to the address that it concerns', () =>
    withSettings({ OIDC_EMAIL_CLAIM: 'https://example.com/mail' }, [
      [
        { 'https://example.com/mail': 'a@example.com', email_verified: true },
        { email: 'a@example.com', emailVerified: true },
      ],
      [
        { 'https://example.com/mail': 'a@example.com', email: 'b@example.com', email_verified: true },
        { email: 'a@example.com', emailVerified: false },
      ],
      [
        { email: 'b@example.com', email_verified: true },
        { email: '', emailVerified: false },
      ],
    ]));

  test('a provider that supports only Basic authentication gets the client secret there', async () => {
    authMethods = ['client_secret_basic'];
    await withSettings({}, [[{ email: 'a@example.com', email_verified: true }, { emailVerified: true }]]);
    authMethods = ['client_secret_basic', 'client_secret_post'];
    const secret = Buffer.from('rms:secret+of+the+client').toString('base64');
    expect(authorizations).toContain(`Basic ${secret}`);
    expect(tokenRequests[0]?.has('client_secret')).toBe(false);
  });
});

test('each sign-in uses the current OIDC_CLIENT_SECRET_FILE', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-oidc-'));
  const file = join(folder, 'secret');
  writeFileSync(file, 'first');
  const other = await startWith({ OIDC_CLIENT_SECRET: '', OIDC_CLIENT_SECRET_FILE: file });
  try {
    await identify(other);
    writeFileSync(file, 'second');
    claims = {};
    await identify(other);
    expect(tokenRequests.map((sent) => sent.get('client_secret'))).toEqual(['first', 'second']);
  } finally {
    await other.stop();
    rmSync(folder, { recursive: true });
  }
});

test('visits of several tabs complete in any order, and the browser key outlives a break of an hour', async () => {
  const one = await begin('/w/ws_own/live/keys');
  const two = await begin('/w/ws_own/live/team', one.cookie);
  expect(two.cookie).toBe(one.cookie);
  expect(Number(/Max-Age=(\d+)/.exec(two.attributes)?.[1])).toBeGreaterThan(3_600);
  let { cookie } = two;
  for (const [visit, path] of [
    [two, '/w/ws_own/live/team'],
    [one, '/w/ws_own/live/keys'],
  ] as const) {
    claims = {};
    const back = await followCallback({ ...visit, cookie });
    expect(back.headers.get('location')).toBe(path);
    cookie =
      back.headers
        .getSetCookie()
        .find((one) => one.startsWith('__Host-rms_oidc='))
        ?.split(';')[0] ?? '';
  }
});

test('a reload of the callback, or going back to it, shows the page without a second sign-in', async () => {
  const visit = await begin();
  const done = await followCallback(visit);
  const cookie =
    done.headers
      .getSetCookie()
      .find((one) => one.startsWith('__Host-rms_oidc='))
      ?.split(';')[0] ?? '';
  const [tokens, calls] = [tokenRequests.length, dashboard.recorded.length];
  const again = await followCallback({ ...visit, cookie });
  expect([again.status, again.headers.get('location')]).toEqual([302, '/w/ws_own/live/webhooks']);
  expect(again.headers.getSetCookie()).toEqual([]);
  expect([tokenRequests.length, dashboard.recorded.length]).toEqual([tokens, calls]);
});

test.each([
  ['denied', (visit: { cookie: string }) => ({ visit, changes: { error: 'access_denied', code: '' } })],
  ['expired', (visit: { cookie: string }) => ({ visit: { ...visit, cookie: '' }, changes: {} })],
  ['expired', (visit: { cookie: string }) => ({ visit, changes: { state: 'other' } })],
])('a failure shows the reason %s and keeps the requested page', async (reason, given) => {
  const visit = await begin();
  const { changes } = given(visit);
  const back = await followCallback({ ...visit, ...given(visit).visit }, changes);
  const { searchParams } = new URL(back.headers.get('location') ?? '', dashboardUrl);
  expect(searchParams.get('reason')).toBe(reason);
  expect(searchParams.get('next')).toBe(reason === 'denied' ? '/w/ws_own/live/webhooks' : '/');
});

test('an unavailable provider leads to the sign-in page, not to an error document', async () => {
  const other = await startWith({ OIDC_ISSUER: 'http://127.0.0.1:1' });
  const sent = await get('/api/oidc/start', '', other);
  expect(sent.headers.get('location')).toMatch(/^\/sign-in\?failed=req_\w+&reason=unavailable&next=%2F$/);
  await other.stop();
});
