import { FairCache } from '@rms/async';
import { Client, type Dispatcher, Pool } from 'undici';

type Outgoing = Dispatcher.DispatchOptions & { origin: string };

interface Kept {
  readonly pool: Pool;
  /** Among the open connections. */
  readonly name: string;
}

/**
 * undici connection pools by workspace and origin. A pool is removed when its last connection closes. The pool of an
 * endpoint that refuses connections stays for the next call, whereas undici's own Agent would create a new pool for
 * every call, which costs as much as the call itself. When too many pools are kept, the workspace with the most pools
 * loses its least recently used one. {@link OpenConnections} limits their connections.
 */
export class OriginPools {
  readonly #options: Pool.Options;
  readonly #connections: OpenConnections;
  readonly #pools: FairCache<Kept>;
  /** Clients with one request each. */
  readonly #single = new Set<Client>();

  /** @param max pools that are kept; one without connections takes about 20 kB */
  constructor(options: Pool.Options, max: number, connections: OpenConnections) {
    this.#options = options;
    this.#connections = connections;
    this.#pools = new FairCache({
      max,
      dispose: ({ pool, name }) => {
        connections.remove(name);
        // close() waits for the running requests.
        void pool.close().catch(() => {});
      },
    });
  }

  /** Number of pools. */
  get size(): number {
    return this.#pools.size;
  }

  /** Sends a request over a workspace connection, like `dispatch` of undici's dispatchers. */
  dispatch(workspaceId: string, options: Outgoing, handler: Dispatcher.DispatchHandler): void {
    this.#poolOf(workspaceId, options.origin).dispatch(options, handler);
  }

  /** Sends a request over a new connection, which is closed afterwards. */
  dispatchAlone(options: Outgoing, handler: Dispatcher.DispatchHandler): void {
    const { connections: _, ...rest } = this.#options;
    const client = new Client(options.origin, rest);
    this.#single.add(client);
    client.dispatch(options, handler);
    // close() waits for the request.
    void client
      .close()
      .catch(() => {})
      .finally(() => this.#single.delete(client));
  }

  /** Closes all pools after the running requests end. */
  async close(): Promise<void> {
    await Promise.all([...this.#all(), ...this.#single].map((pool) => pool.close()));
  }

  /** Aborts the running requests and closes all pools. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#all(), ...this.#single].map((pool) => pool.destroy()));
  }

  #all(): Pool[] {
    return this.#pools.values().map(({ pool }) => pool);
  }

  #poolOf(workspaceId: string, origin: string): Pool {
    const key = `${workspaceId} ${origin}`;
    const present = this.#pools.get(key);
    if (present) {
      this.#connections.use(present.name);
      return present.pool;
    }
    const pool = new Pool(origin, this.#options);
    const isKept = () => this.#pools.peek(key)?.pool === pool;
    const remove = () => {
      if (isKept()) this.#pools.delete(key);
    };
    const name = this.#connections.add(workspaceId, remove);
    pool.on('connect', () => this.#connections.count(name, pool.stats.connected));
    pool.on('disconnect', () => {
      const { connected, size } = pool.stats;
      if (connected === 0 && size === 0) remove();
      else this.#connections.count(name, connected);
    });
    this.#pools.set(workspaceId, key, { pool, name });
    return pool;
  }
}

/** Connections to endpoints that stay open after their requests, of all pools of a process. */
const connectionLimits = { total: 3_000, ofWorkspace: 768 } as const;

interface Counted {
  readonly close: () => void;
}

/**
 * Limits the open connections of connection pools. A pool keeps a connection for up to a minute after its last request.
 * Without a limit, a workspace with many endpoints would leave more of them open than the process, or an egress proxy,
 * can have. Above a limit, the least recently used pool of the workspace closes.
 */
export class OpenConnections {
  readonly #pools: FairCache<Counted>;
  #lastName = 0;

  constructor({ total, ofWorkspace }: { readonly total: number; readonly ofWorkspace: number } = connectionLimits) {
    this.#pools = new FairCache({ max: total, maxPerTenant: ofWorkspace, dispose: ({ close }) => close() });
  }

  /**
   * Adds a pool without connections. Returns its name.
   * @param close called when the pool must close, and when it is removed
   */
  add(workspaceId: string, close: () => void): string {
    this.#lastName += 1;
    const name = String(this.#lastName);
    this.#pools.set(workspaceId, name, { close });
    this.count(name, 0);
    return name;
  }

  /** Makes a pool the most recently used one of its workspace. */
  use(name: string): void {
    this.#pools.get(name);
  }

  /** Sets the number of connections of a pool. */
  count(name: string, connections: number): void {
    this.#pools.weigh(name, connections);
  }

  remove(name: string): void {
    this.#pools.delete(name);
  }
}
