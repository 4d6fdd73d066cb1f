import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { type Network, startNetwork, startReceiver } from '@rms/testkit';
import pg from 'pg';
import { type Endpoint, pathOf } from '../../../services/dashboard/src/routes/endpoint.ts';
import { endpoints } from '../../../services/dashboard/src/routes/endpoints.ts';
import { untilAtRest } from '../rpc/at-rest.ts';
import { makeOwned } from '../rpc/owned.ts';
import { rowsOf } from '../rpc/rows.ts';
import { connectAll, type Rpc } from '../rpc/rpc.ts';
import { browserAt, type HttpBrowser, type Person, signInAt } from './browser.ts';
import { type Call, type Entry, entries } from './entries.ts';
import { type Named, namesOf } from './named.ts';

/** An owner who has one of everything in the live environment, and people of all sorts on the real dashboard. */
export interface World {
  readonly network: Network;
  readonly rpc: Rpc;
  readonly db: pg.Client;
  readonly url: string;
  /** The owner's workspace. */
  readonly workspaceId: string;
  readonly named: Named;
  /** None of these is in any answer to anybody else. */
  readonly marks: readonly string[];
  /** Owns a workspace of their own, and nothing in the owner's. */
  readonly stranger: Person & { readonly workspaceId: string };
  /** Somebody new in the owner's workspace. */
  person(role: Role): Promise<Person & { readonly id: string }>;
  /** Somebody new in the stranger's. */
  outsider(): Promise<Person>;
  signIn(person: Person): Promise<HttpBrowser>;
  /** Nobody's. */
  readonly anonymous: HttpBrowser;
  /** What the owner has in the live environment: every row, how often the owner's endpoints were called, a session. */
  stateOfOwner(): Promise<object>;
  stop(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const receiver = await startReceiver({ path: '' });
  receiver.respondWith(({ path }, response) => void response.writeHead(path === '/fails' ? 500 : 200).end());
  const env = {
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    // Tests come from whatever address they name, and do not use up one another's attempts.
    TRUSTED_PROXIES: '127.0.0.0/8',
  };
  const network = await startNetwork({ env, dashboard: true });
  const url = network.dashboard?.url ?? '';
  const rpc = connectAll(network);
  const db = new pg.Client({ connectionString: network.env.DATABASE_URL });
  await db.connect();
  const newWorkspace = async (name: string) => (await rpc.workspaces.createWorkspace({ name })).workspace?.id ?? '';
  let people = 0;
  const newPerson = async (workspaceId: string, role: Role) => {
    people += 1;
    const email = `person-${people}@example.com`;
    const { user, password } = await rpc.users.createUser({ email, workspaceId, role });
    return { id: user?.id ?? '', email, password };
  };
  const signIn = (one: Person) => signInAt(url, one);
  const strangers = await newWorkspace('Other');
  const workspaceId = await newWorkspace('Owner');
  const stranger = { ...(await newPerson(strangers, Role.OWNER)), workspaceId: strangers };
  const owned = await makeOwned(rpc, workspaceId, receiver);
  const member = await newPerson(workspaceId, Role.OWNER);
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
    marks: [...owned.marks, session, owned.url],
    stranger,
    person: (role) => newPerson(workspaceId, role),
    outsider: () => newPerson(strangers, Role.VIEWER),
    signIn,
    anonymous: browserAt(url),
    async stateOfOwner() {
      const calls = receiver.requests.filter(({ json }) => owned.marks.includes(json.id)).length;
      const { status: session } = await members.send('GET', '/api/account');
      return { rows: await rowsOf(db, workspaceId, 'live'), calls, session };
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

/** "PATCH /keys/{id}" */
export const nameOf = ({ method, path }: Endpoint) => `${method.toUpperCase()} ${path}`;

export const isTenant = ({ access }: Endpoint) => access !== 'open' && access !== 'account';

export const isChange = ({ method }: Endpoint) => method !== 'get';

/** Every endpoint with its entry; one that has none is missing here, and fails the first test. */
export const known = endpoints.flatMap((endpoint): [string, Endpoint, Entry][] => {
  const entry = entries[nameOf(endpoint)];
  return entry ? [[nameOf(endpoint), endpoint, entry]] : [];
});

/** Sends a call of an endpoint, in that place where it has one. */
export function sendCall(
  browser: HttpBrowser,
  endpoint: Endpoint,
  { id = '', query = {}, body }: Call,
  { workspaceId = '', environment = 'live', headers = {} } = {},
) {
  const path = pathOf(endpoint)
    .replace('{workspace}', workspaceId)
    .replace('{environment}', environment)
    .replace('{id}', encodeURIComponent(id));
  const search = new URLSearchParams(query).toString();
  return browser.send(endpoint.method.toUpperCase(), search === '' ? path : `${path}?${search}`, {
    headers,
    ...(body === undefined ? {} : { body }),
  });
}
