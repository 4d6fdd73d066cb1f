import type { Dispatcher } from 'undici';
import { type ApiClient, createApiClient } from './api-client.ts';
import type { Environment, NewKey, Scope } from './api-types.ts';
import type { Contract } from './openapi-contract.ts';

/** A running service, whatever it is made of, as a person outside sees it. */
export interface Shape {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  /** Makes the connections to both, where their names cannot be looked up. */
  readonly dispatcher?: Dispatcher;
  /** The CIDR that requests of these tests come from, as the service sees it; default: loopback. */
  readonly clientNetwork?: string;
  /** Runs the `rms` command with `--json` and parses what it prints. */
  rms<T>(...args: string[]): Promise<T>;
}

/** What the suites run against; filled before the first test. */
export interface Target {
  readonly shape: Shape;
  readonly contract: Contract;
}

/** A workspace of its own for one suite, so that suites do not see each other's resources. */
export interface Account {
  readonly workspaceId: string;
  /** A new key. */
  newKey(environment: Environment, scope: Scope, ...options: string[]): Promise<NewKey>;
  /** A client with a key of that scope; the same one each time. */
  client(environment: Environment, scope: Scope): Promise<ApiClient>;
  /** A client with any key. */
  clientWith(environment: Environment, key: string): ApiClient;
  /** The `rms` command on this workspace. */
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
