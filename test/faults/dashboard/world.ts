import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { type Network, startNetwork, startReceiver } from '@rms/testkit';
import pg from 'pg';
import { type Endpoint, pathOf } from '../../../services/dashboard/src/routes/endpoint.ts';
import { endpoints } from '../../../services/dashboard/src/routes/endpoints.ts';
import { untilAtRest } from '../rpc/at-rest.ts';
import { makeOwned } from '../rpc/owned.ts';
import { rowsOf } from '../rpc/rows.ts';
import { connectAll, type Rpc } from '../rpc/rpc.ts';
import { browserAt, type HttpBrowser, signInAt, type TestUser } from './browser.ts';
import { type Call, type Entry, entries } from './entries.ts';
import { type Named, namesOf } from './named.ts';

/**
 * The distributed shape with a dashboard, an owner with an object of every kind in the live environment, and other
 * users.
 */
export interface World {
  readonly network: Network;
  readonly rpc: Rpc;
  readonly db: pg.Client;
  readonly url: string;
  /** The owner's workspace. */
  readonly workspaceId: string;
  readonly named: Named;
  /** Strings that must not appear in any response to other users. */
  readonly markers: readonly string[];
  /** Owns a separate workspace and has no access to the owner's. */
  readonly otherOwner: TestUser & { readonly workspaceId: string };
  /** Creates a user in the owner's workspace. */
  member(role: Role): Promise<TestUser & { readonly id: string }>;
  /** Creates a user in the other owner's workspace. */
  outsider(): Promise<TestUser>;
  signIn(member: TestUser): Promise<HttpBrowser>;
  /** A browser without a session. */
  readonly anonymous: HttpBrowser;
  /** The owner's state in the live environment: every row, the number of calls to the owner's endpoints, a session. */
  stateOfOwner(): Promise<object>;
  stop(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const receiver = await startReceiver({ path: '' });
  receiver.respondWith(({ path }, response) => void response.writeHead(path === '/fails' ? 500 : 200).end());
  const env = {
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    // Trusts X-Forwarded-For, so that each test can use its own addresses and leaves other tests their attempts.
    TRUSTED_PROXIES: '127.0.0.0/8',
  };
  const network = await startNetwork({ env, dashboard: true });
  const url = network.dashboard?.url ?? '';
  const rpc = connectAll(network);
  const db = new pg.Client({ connectionString: network.env.DATABASE_URL });
  await db.connect();
  const newWorkspace = async (name: string) => (await rpc.workspaces.createWorkspace({ name })).workspace?.id ?? '';
  let userCount = 0;
  const newUser = async (workspaceId: string, role: Role) => {
    userCount += 1;
    const email = `person-${userCount}@example.com`;
    const { user, password } = await rpc.users.createUser({ email, workspaceId, role });
    return { id: user?.id ?? '', email, password };
  };
  const signIn = (one: TestUser) => signInAt(url, one);
  const otherWorkspaceId = await newWorkspace('Other');
  const workspaceId = await newWorkspace('Owner');
  const otherOwner = { ...(await newUser(otherWorkspaceId, Role.OWNER)), workspaceId: otherWorkspaceId };
  const owned = await makeOwned(rpc, workspaceId, receiver);
  const member = await newUser(workspaceId, Role.OWNER);
  const members = await signIn(member);
  const session = await sessionIdOf(members);
  await untilAtRest(db);
  return {
    network,
    rpc,
    db,
    url,
    workspaceId,
    named: namesOf(owned, session),
    markers: [...owned.markers, session, owned.url],
    otherOwner,
    member: (role) => newUser(workspaceId, role),
    outsider: () => newUser(otherWorkspaceId, Role.VIEWER),
    signIn,
    anonymous: browserAt(url),
    async stateOfOwner() {
      const calls = receiver.requests.filter(({ json }) => owned.markers.includes(json.id)).length;
      const { status: session } = await members.send('GET', '/api/account');
      const rows = Object.entries(await rowsOf(db, workspaceId, 'live'));
      // Excludes the request log: rejected requests of members appear in it a moment later.
      const changed = rows.filter(([table]) => !table.startsWith('auth.requests'));
      return { rows: Object.fromEntries(changed), calls, session };
    },
    async stop() {
      rpc.close();
      await db.end();
      await network.stop();
      await receiver.close();
    },
  };
}

async function sessionIdOf(browser: HttpBrowser): Promise<string> {
  const { text } = await browser.send('GET', '/api/account/sessions');
  return (JSON.parse(text) as { data: { id: string }[] }).data[0]?.id ?? '';
}

export const nameOf = ({ method, path }: Endpoint) => `${method.toUpperCase()} ${path}`;

export const isTenant = ({ access }: Endpoint) => access !== 'open' && access !== 'account';

export const isChange = ({ method }: Endpoint) => method !== 'get';

/** Every endpoint that has an entry. A missing entry fails the first test of isolation-suite.ts. */
export const known = endpoints.flatMap((endpoint): [string, Endpoint, Entry][] => {
  const entry = entries[nameOf(endpoint)];
  return entry ? [[nameOf(endpoint), endpoint, entry]] : [];
});

/** Sends a call to an endpoint, in the given workspace and environment if the path has them. */
export function sendCall(
  browser: HttpBrowser,
  endpoint: Endpoint,
  { id = '', query = {}, body }: Call,
  { workspaceId = '', environment = 'live', headers = {} } = {},
) {
  const path = pathOf(endpoint)
    .replace('{workspace}', workspaceId)
    .replace('{environment}', environment)
    .replace(/\{\w+\}/, encodeURIComponent(id));
  const search = new URLSearchParams(query).toString();
  return browser.send(endpoint.method.toUpperCase(), search === '' ? path : `${path}?${search}`, {
    headers,
    ...(body === undefined ? {} : { body }),
  });
}
