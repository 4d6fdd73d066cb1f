import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { startDashboard, type TestDashboard } from './support.ts';

export const dashboardUrl = 'https://dashboard.example.com';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const forged = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const keys = {
  RS256: rsa,
  PS256: rsa,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
};
type Algorithm = keyof typeof keys;
/** Every algorithm and generation has its own key ID. */
const kidOf = (algorithm: Algorithm, { keyGeneration }: Behavior) => `key ${keyGeneration} of ${algorithm}`;

/** Behavior of the provider and of auth, which each test sets. */
interface Behavior {
  /** Claims of the ID token, in addition to the default ones. */
  claims: Record<string, unknown>;
  /** Whether the ID token contains an email address. */
  hasEmail: boolean;
  /** Algorithm of the ID token's signature. */
  algorithm: Algorithm;
  /** Number of times that the provider has replaced its keys. */
  keyGeneration: number;
  /** Whether the ID token is signed with another key. */
  isForged: boolean;
  /** Claims of UserInfo; a number: the status of an error response. */
  userInfo: Record<string, unknown> | number;
  /** Authentication methods that the provider supports for the client. */
  authMethods: string[];
  /** The methods that the provider refuses for the client, although it supports them for others. */
  refusedMethods: string[];
  /** Whether auth refuses the identity. */
  isRefused: boolean;
  /** Workspace that the identity joins by an invitation; empty: none. */
  joined: string;
  /** Further metadata of the provider. */
  metadata: Record<string, unknown>;
}

/** A sign-in that has started: the redirect URL, and the browser's cookie. */
interface Visit {
  readonly url: URL;
  readonly cookie: string;
  /** The cookie with its attributes. */
  readonly attributes: string;
}

/** An OpenID Connect provider, and a dashboard that uses it. */
export interface OidcScene extends Behavior {
  readonly issuer: string;
  readonly dashboard: TestDashboard;
  /** Requests at the token endpoint. */
  readonly tokenRequests: readonly URLSearchParams[];
  /** Authorization headers of all requests at the provider. */
  readonly authorizations: readonly (string | undefined)[];
  /** Sets the default behavior and forgets the requests. */
  reset(): void;
  /** Starts another dashboard. The caller stops it. */
  startWith(env: Record<string, string>): Promise<TestDashboard>;
  get(path: string, cookie?: string, at?: TestDashboard): Promise<globalThis.Response>;
  /** Starts the sign-in. */
  begin(next?: string, before?: string, at?: TestDashboard): Promise<Visit>;
  /** Returns from the provider to the dashboard. */
  followCallback(visit: Visit, changes?: Record<string, string>, at?: TestDashboard): Promise<globalThis.Response>;
  /** Signs in; returns the identity that auth was asked about, and a failure's reason. */
  identify(at?: TestDashboard): Promise<{ identity: Record<string, unknown>; reason: string | null }>;
  stop(): Promise<void>;
}

function defaults(): Behavior {
  return {
    claims: {},
    hasEmail: true,
    algorithm: 'RS256',
    keyGeneration: 0,
    isForged: false,
    userInfo: {},
    authMethods: ['client_secret_basic', 'client_secret_post'],
    refusedMethods: [],
    isRefused: false,
    joined: '',
    metadata: {},
  };
}

/** @param tls certificate and key of the provider, as PEM; default: plain HTTP */
export async function startOidcScene(tls?: { cert: Buffer; key: Buffer }): Promise<OidcScene> {
  const tokenRequests: URLSearchParams[] = [];
  const authorizations: (string | undefined)[] = [];
  const respond: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      if (request.url === '/userinfo' && typeof scene.userInfo === 'number') response.statusCode = scene.userInfo;
      authorizations.push(request.headers.authorization);
      const body = Buffer.concat(chunks).toString();
      if (request.url === '/token') {
        const sent = new URLSearchParams(body);
        tokenRequests.push(sent);
        const method = sent.has('client_secret') ? 'client_secret_post' : 'client_secret_basic';
        if (scene.refusedMethods.includes(method)) {
          // RFC 6749, 5.2: the challenge is required if the client used the Authorization header.
          const challenge = method === 'client_secret_basic' ? { 'WWW-Authenticate': 'Basic realm="clients"' } : {};
          return response.writeHead(401, challenge).end(JSON.stringify({ error: 'invalid_client' }));
        }
      }
      return response.end(JSON.stringify(documentAt(request.url ?? '', scene)));
    });
  };
  const provider = (tls ? createTlsServer(tls, respond) : createServer(respond)).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const startWith = (env: Record<string, string>) =>
    startDashboard(
      {
        DASHBOARD_URL: dashboardUrl,
        OIDC_ISSUER: issuer,
        OIDC_CLIENT_ID: 'rms',
        OIDC_CLIENT_SECRET: 'secret of the client',
        ...env,
      },
      {
        verifyIdentity: () => ({
          workspaceId: scene.joined,
          result: scene.isRefused
            ? { outcome: SignInOutcome.REFUSED }
            : {
                outcome: SignInOutcome.SIGNED_IN,
                user: { id: 'usr_1', email: 'person@example.com', name: '', sessionGeneration: 1n },
              },
        }),
      },
    );
  const dashboard = await startWith({});
  const get: OidcScene['get'] = (path, cookie = '', { url } = dashboard) =>
    fetch(url + path, { redirect: 'manual', headers: cookie ? { Cookie: cookie } : {} });
  const begin: OidcScene['begin'] = async (next = '/w/ws_own/live/webhooks', before = '', at = dashboard) => {
    const sent = await get(`/api/oidc/start?${new URLSearchParams({ next })}`, before, at);
    expect(sent.status).toBe(302);
    const [cookie = ''] = sent.headers.getSetCookie();
    return { url: new URL(sent.headers.get('location') ?? ''), cookie: cookie.split(';')[0] ?? '', attributes: cookie };
  };
  const followCallback: OidcScene['followCallback'] = async (visit, changes = {}, at = dashboard) => {
    const email = scene.hasEmail ? { email: 'person@example.com', email_verified: true } : {};
    const nonce = scene.claims.nonce ?? visit.url.searchParams.get('nonce');
    scene.claims = { ...email, ...scene.claims, nonce };
    const given = { code: 'code-1', state: visit.url.searchParams.get('state') ?? '', ...changes };
    return get(`/api/oidc/callback?${new URLSearchParams(given)}`, visit.cookie, at);
  };
  const scene: OidcScene = {
    ...defaults(),
    issuer,
    dashboard,
    tokenRequests,
    authorizations,
    startWith,
    get,
    begin,
    followCallback,
    reset() {
      Object.assign(scene, defaults());
      tokenRequests.length = 0;
      authorizations.length = 0;
    },
    async identify(at = dashboard) {
      const back = await followCallback(await begin('/', '', at), {}, at);
      const { request } = at.recorded.findLast(({ method }) => method === 'verifyIdentity') ?? {};
      const { searchParams } = new URL(back.headers.get('location') ?? '', dashboardUrl);
      return { identity: request as Record<string, unknown>, reason: searchParams.get('reason') };
    },
    async stop() {
      await dashboard.stop();
      provider.close();
      await once(provider, 'close');
    },
  };
  return scene;
}

/** Returns the document that the provider sends for a path. */
function documentAt(path: string, scene: OidcScene): object {
  const { issuer, userInfo, authMethods } = scene;
  switch (path) {
    case '/.well-known/openid-configuration':
      return {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/userinfo`,
        token_endpoint_auth_methods_supported: authMethods,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: Object.keys(keys),
        code_challenge_methods_supported: ['S256'],
        ...scene.metadata,
      };
    case '/jwks':
      return { keys: Object.entries(keys).map(([alg, key]) => jwkOf(alg as Algorithm, key, scene)) };
    case '/userinfo':
      return typeof userInfo === 'number' ? {} : { sub: 'subject-1', ...userInfo };
    default:
      return { access_token: 'access', token_type: 'Bearer', id_token: idToken(scene) };
  }
}

function jwkOf(alg: Algorithm, { publicKey }: { publicKey: KeyObject }, scene: OidcScene): object {
  return { ...publicKey.export({ format: 'jwk' }), kid: kidOf(alg, scene), alg, use: 'sig' };
}

function idToken(scene: OidcScene): string {
  const { issuer, claims, algorithm, isForged } = scene;
  const now = Math.floor(Date.now() / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = { iss: issuer, aud: 'rms', sub: 'subject-1', iat: now, exp: now + 60, ...claims };
  const text = `${part({ alg: algorithm, kid: kidOf(algorithm, scene) })}.${part(payload)}`;
  const signature = sign(algorithm === 'EdDSA' ? null : 'sha256', Buffer.from(text), {
    key: isForged ? forged : keys[algorithm].privateKey,
    dsaEncoding: 'ieee-p1363',
    ...(algorithm === 'PS256' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {}),
  });
  return `${text}.${signature.toString('base64url')}`;
}
