import { SignInOutcome, type SignInResult } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { createLogger, readSettings } from '@rms/service';
import type { Backend } from '../src/context.ts';
import {
  createDashboard,
  createDashboardContext,
  createMemorySessionStore,
  type DashboardService,
  readDashboardConfig,
} from '../src/index.ts';
import type { SessionStore } from '../src/session/session-store.ts';

/** A call that the dashboard has made to a service. */
export interface Recorded {
  readonly service: string;
  readonly method: string;
  readonly request: unknown;
  readonly options: unknown;
}

/** A dashboard whose services remember what they were asked, and know one person: `right password` signs in. */
export interface TestDashboard {
  readonly service: DashboardService;
  readonly url: string;
  readonly store: SessionStore;
  readonly recorded: Recorded[];
  /** What it has logged. */
  readonly lines: string[];
  /** What auth says of the person from now on. */
  person: { valid: boolean; generation: bigint; workspaces: Record<string, RoleMessage>; secondFactor: boolean };
  /** Signs in; what it resolves to sends as that browser does. */
  signIn(options?: { cookie?: string }): Promise<Browser>;
  stop(): Promise<void>;
}

/** One signed-in browser. */
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

/** @param further answers of services by the name of the method, in place of those here */
export async function startDashboard(
  env: Record<string, string> = {},
  further: Readonly<Record<string, (request: never) => unknown>> = {},
): Promise<TestDashboard> {
  const recorded: Recorded[] = [];
  const lines: string[] = [];
  const person: TestDashboard['person'] = {
    valid: true,
    generation: 1n,
    workspaces: { [ownWorkspace]: RoleMessage.OWNER },
    secondFactor: false,
  };
  const user = () => ({ id: 'usr_1', email: 'person@example.com', name: '', sessionGeneration: person.generation });
  const memberships = () =>
    Object.entries(person.workspaces).map(([workspaceId, role]) => ({ workspaceId, workspaceName: 'Own', role }));
  const signedIn = (isRight: boolean) =>
    (isRight
      ? { outcome: SignInOutcome.SIGNED_IN, user: user(), memberships: memberships() }
      : { outcome: SignInOutcome.REFUSED }) as SignInResult;
  const answers: Readonly<Record<string, (request: never) => unknown>> = {
    verifyPassword: ({ password }: { password: string }) =>
      person.secondFactor && password === 'right password'
        ? { result: { outcome: SignInOutcome.SECOND_FACTOR_REQUIRED, challenge: 'challenge' } }
        : { result: signedIn(password === 'right password') },
    verifyIdentity: () => ({ result: signedIn(true) }),
    verifySecondFactor: ({ challenge, code }: { challenge: string; code: string }) => ({
      result: signedIn(challenge === 'challenge' && code === '123456'),
    }),
    checkSession: ({ sessionGeneration }: { sessionGeneration: bigint }) => ({
      valid: person.valid && sessionGeneration === person.generation,
      user: user(),
      memberships: memberships(),
    }),
    endSessions: () => {
      person.generation += 1n;
      return { user: user() };
    },
    listWorkspaces: () => ({
      workspaces: [
        { id: ownWorkspace, plan: 'gold' },
        { id: 'ws_other', plan: '' },
      ],
    }),
    listPlans: () => ({ plans: [{ name: 'gold', monthlyQuota: 5n }] }),
    listKeys: () => ({ keys: [{ id: 'key_own', allowedIps: [], uses: [] }] }),
  };
  const client = (service: string) =>
    new Proxy(
      {},
      {
        get: (_, method: string) => async (request: never, options: unknown) => {
          recorded.push({ service, method, request, options });
          return (further[method] ?? answers[method])?.(request) ?? {};
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
    'alerts',
    'usage',
    'plans',
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
  const service = createDashboard({ ...readDashboardConfig(settings), port: 0 }, context);
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
    person,
    async signIn({ cookie: before } = {}) {
      const answer = await send('POST', '/api/sign-in', {
        body: { email: 'person@example.com', password: 'right password' },
        headers: before ? { Cookie: before } : {},
      });
      const cookie = cookieOf(answer);
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

/** "name=value" of the cookie that an answer sets; empty: none. */
export function cookieOf(answer: Response): string {
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

/** The code of an answer that is no success. */
export async function codeOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error: { code: string } };
  return error.code;
}
