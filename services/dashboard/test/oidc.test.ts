import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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
let dashboard: TestDashboard;

beforeAll(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(respond(request.url ?? '', Buffer.concat(chunks).toString())));
    });
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  dashboard = await startDashboard({
    DASHBOARD_URL: dashboardUrl,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: 'rms',
    OIDC_CLIENT_SECRET: 'secret of the client',
  });
});
beforeEach(() => {
  claims = {};
  signingKey = privateKey;
  tokenRequests = [];
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
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    };
  }
  if (url === '/jwks')
    return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] };
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

const get = (path: string, cookie = '') =>
  fetch(dashboard.url + path, { redirect: 'manual', headers: cookie ? { Cookie: cookie } : {} });

/** Starts the sign-in. Returns the redirect URL and the cookie. */
async function begin(next = '/w/ws_own/live/webhooks') {
  const sent = await get(`/api/oidc/start?${new URLSearchParams({ next })}`);
  expect(sent.status).toBe(302);
  const [cookie = ''] = sent.headers.getSetCookie();
  return { url: new URL(sent.headers.get('location') ?? ''), cookie: cookie.split(';')[0] ?? '', attributes: cookie };
}

async function followCallback(visit: Awaited<ReturnType<typeof begin>>, changes: Record<string, string> = {}) {
  claims = { nonce: visit.url.searchParams.get('nonce'), email: 'person@example.com', email_verified: true, ...claims };
  const given = { code: 'code-1', state: visit.url.searchParams.get('state') ?? '', ...changes };
  return get(`/api/oidc/callback?${new URLSearchParams(given)}`, visit.cookie);
}

test('redirects to the provider and back, and signs in the user with this identity', async () => {
  const visit = await begin();
  expect(visit.attributes).toMatch(/^__Host-rms_oidc=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/);
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
