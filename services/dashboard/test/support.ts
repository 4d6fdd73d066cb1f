import { portalPermissions } from '@rms/base/roles';
import { SignInOutcome, type SignInResult } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import type { Backend } from '../src/context.ts';
import {
  createDashboard,
  createDashboardContext,
  createMemorySessionStore,
  type DashboardService,
  readDashboardConfig,
} from '../src/index.ts';
import type { SessionStore } from '../src/session/session.ts';

/** RPC call that the dashboard has made. */
export interface Recorded {
  readonly service: string;
  readonly method: string;
  readonly request: unknown;
  readonly options: unknown;
}

/** Dashboard with fake services that record their calls and know one user with the password `right password`. */
export interface TestDashboard {
  readonly service: DashboardService;
  readonly url: string;
  readonly store: SessionStore;
  readonly recorded: Recorded[];
  /** Log lines. */
  readonly lines: string[];
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** User that auth returns. */
  account: {
    userId: string;
    valid: boolean;
    generation: bigint;
    workspaces: Record<string, RoleMessage>;
    secondFactor: boolean;
  };
  /** Signs in and returns a browser with that session. */
  signIn(options?: { cookie?: string }): Promise<Browser>;
  stop(): Promise<void>;
}

/** Signed-in browser. */
export interface Browser {
  readonly cookie: string;
  readonly csrfToken: string;
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
}

export interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const ownWorkspace = 'ws_own';

/** Token of the portal session that auth knows. */
export const portalToken = 'p'.repeat(43);
const portalSession = {
  id: 'pts_1',
  workspaceId: ownWorkspace,
  environment: Environment.SANDBOX,
  keyId: 'key_1',
  actorName: 'portal session of key embed',
  permissions: [...portalPermissions, 'keys:read'],
  returnUrl: '',
};

/**
 * Starts a dashboard.
 * @param further responses by method name that replace the default ones
 */
export async function startDashboard(
  env: Record<string, string> = {},
  further: Readonly<Record<string, (request: never) => unknown>> = {},
): Promise<TestDashboard> {
  const recorded: Recorded[] = [];
  const lines: string[] = [];
  const account: TestDashboard['account'] = {
    valid: true,
    generation: 1n,
    workspaces: { [ownWorkspace]: RoleMessage.OWNER },
    secondFactor: false,
    userId: 'usr_1',
  };
  const user = () => ({
    id: account.userId,
    email: 'person@example.com',
    name: '',
    sessionGeneration: account.generation,
  });
  const memberships = () =>
    Object.entries(account.workspaces).map(([workspaceId, role]) => ({ workspaceId, workspaceName: 'Own', role }));
  const signedIn = (isRight: boolean) =>
    (isRight
      ? { outcome: SignInOutcome.SIGNED_IN, user: user(), memberships: memberships() }
      : { outcome: SignInOutcome.REFUSED }) as SignInResult;
  const responses: Readonly<Record<string, (request: never) => unknown>> = {
    verifyPassword: ({ password }: { password: string }) =>
      account.secondFactor && password === 'right password'
        ? {
            result: { outcome: SignInOutcome.SECOND_FACTOR_REQUIRED, challenge: 'challenge', challengeUserId: 'usr_1' },
          }
        : { result: signedIn(password === 'right password') },
    verifyIdentity: () => ({ result: signedIn(true) }),
    verifySecondFactor: ({ challenge, code }: { challenge: string; code: string }) => ({
      result: signedIn(challenge === 'challenge' && code === '123456'),
    }),
    checkSession: ({ sessionGeneration }: { sessionGeneration: bigint }) => ({
      valid: account.valid && sessionGeneration === account.generation,
      user: user(),
      memberships: memberships(),
    }),
    endSessions: () => {
      account.generation += 1n;
      return { user: user() };
    },
    getWorkspace: ({ workspaceId }: { workspaceId: string }) => ({
      workspace: { id: workspaceId, plan: 'gold' },
      plan: { name: 'gold', monthlyQuota: 5n, maxWebhooks: 4n },
    }),
    beginSecondFactor: () => ({ secret: 'ABC', uri: 'otpauth://totp/rms:ann%2Bx%40example.com?issuer=rms&secret=ABC' }),
    testRule: () => ({ addresses: [], emails: [] }),
    getEmailStatus: () => ({ hasSmtp: true, waiting: 0, lastError: '' }),
    listKeys: () => ({ keys: [] }),
    checkPortalSession: ({ token }: { token: string }) => (token === portalToken ? { session: portalSession } : {}),
    openPortalSession: () => ({ token: portalToken, session: portalSession }),
  };
  const client = (service: string) =>
    new Proxy(
      {},
      {
        get: (_, method: string) => async (request: never, options: unknown) => {
          recorded.push({ service, method, request, options });
          return (further[method] ?? responses[method])?.(request) ?? {};
        },
      },
    );
  const names = [
    'signIn',
    'users',
    'passwords',
    'secondFactors',
    'members',
    'invitations',
    'keys',
    'workspaces',
    'requests',
    'portalSessions',
    'alerts',
    'usage',
    'audit',
    'resources',
    'webhooks',
    'deliveries',
    'events',
  ] as const satisfies readonly (keyof Backend)[];
  const backend = Object.fromEntries(names.map((name) => [name, client(name)])) as unknown as Backend;
  const settings = readSettings(env);
  const store = createMemorySessionStore();
  const log = createLogger({
    name: 'dashboard',
    level: 'info',
    destination: { write: (line: string) => void lines.push(line) },
  });
  const context = createDashboardContext(settings, { backend, sessions: store, log });
  const service = createDashboard({ ...readDashboardConfig(settings), tailCheckMs: 500, port: 0 }, context);
  await service.start();
  const url = service.address;
  const origin = env.DASHBOARD_URL ?? url;

  const send = (method: string, path: string, { body, headers = {} }: SendOptions = {}) =>
    fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(method === 'GET' ? {} : { Origin: origin }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    service,
    url,
    store,
    recorded,
    lines,
    metrics: () => context.metrics.metrics(),
    account,
    async signIn({ cookie: before } = {}) {
      const response = await send('POST', '/api/sign-in', {
        body: { email: 'person@example.com', password: 'right password' },
        headers: before ? { Cookie: before } : {},
      });
      const cookie = cookieOf(response);
      const account = await send('GET', '/api/account', { headers: { Cookie: cookie } });
      const { csrf_token: csrfToken = '' } = (await account.json()) as { csrf_token?: string };
      return {
        cookie,
        csrfToken,
        send: (method, path, options = {}) =>
          send(method, path, {
            ...options,
            headers: {
              Cookie: cookie,
              ...(method === 'GET' ? {} : { 'X-CSRF-Token': csrfToken }),
              ...options.headers,
            },
          }),
      };
    },
    stop: () => service.stop(),
  };
}

/** Returns the "name=value" of the first cookie that a response sets; empty if it sets none. */
export function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

/** Returns the error code of a response. */
export async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string } };
  return error.code;
}
