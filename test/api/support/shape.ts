import type { Dispatcher } from 'undici';
import { type ApiClient, createApiClient } from './api-client.ts';
import type { Environment, NewKey, Scope } from './api-types.ts';
import type { Contract } from './openapi-contract.ts';

/** A running service, standalone or distributed, as seen from outside. */
export interface Shape {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  /** Makes the connections to both URLs if their host names cannot be resolved. */
  readonly dispatcher?: Dispatcher;
  /** CIDR of these tests' requests, as the service sees it. Default: loopback. */
  readonly clientNetwork?: string;
  /** Runs the `rms` command with `--json` and parses its output. */
  rms<T>(...args: string[]): Promise<T>;
}

/** The service that the suites run against; set before the first test. */
export interface Target {
  readonly shape: Shape;
  readonly contract: Contract;
}

/** A separate workspace for one suite, so that suites do not see each other's resources. */
export interface Account {
  readonly workspaceId: string;
  /** Creates a key. */
  newKey(environment: Environment, scope: Scope, ...options: string[]): Promise<NewKey>;
  /** Returns a client with a key of that scope; repeated calls return the same client. */
  client(environment: Environment, scope: Scope): Promise<ApiClient>;
  /** Creates a client with the given key. */
  clientWith(environment: Environment, key: string): ApiClient;
  /** Runs the `rms` command on this workspace. */
  rms<T>(...args: string[]): Promise<T>;
}

export async function newAccount({ shape, contract }: Target): Promise<Account> {
  const { id: workspaceId } = await shape.rms<{ id: string }>('workspaces', 'create', '--name', 'Suite');
  const clients = new Map<string, Promise<ApiClient>>();
  const account: Account = {
    workspaceId,
    rms: (...args) => shape.rms(...args, '--workspace', workspaceId),
    newKey: (environment, scope, ...options) =>
      account.rms(
        ...['keys', 'create', '--environment', environment, '--scope', scope, '--name', `${scope} key`],
        ...options,
      ),
    clientWith: (environment, key) =>
      createApiClient(environment === 'live' ? shape.liveUrl : shape.sandboxUrl, key, contract, shape.dispatcher),
    client(environment, scope) {
      const name = `${environment} ${scope}`;
      let client = clients.get(name);
      if (!client) {
        client = account.newKey(environment, scope).then(({ key }) => account.clientWith(environment, key));
        clients.set(name, client);
      }
      return client;
    },
  };
  return account;
}
