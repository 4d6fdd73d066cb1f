import { LRUCache } from 'lru-cache';
import { Client, type Dispatcher, Pool } from 'undici';

/** A pool without connections takes about 20 kB. */
const poolsKept = 1_000;

type Outgoing = Dispatcher.DispatchOptions & { origin: string };

/**
 * undici connection pools by origin. A pool is removed when its last connection closes. The pool of an endpoint that
 * refuses connections stays for the next call, whereas undici's own Agent would create a new pool for every call, which
 * costs as much as the call itself.
 */
export class OriginPools {
  readonly #options: Pool.Options;
  readonly #pools = new LRUCache<string, Pool>({
    max: poolsKept,
    // close() waits for the running requests.
    dispose: (pool) => void pool.close().catch(() => {}),
  });
  /** Clients with one request each. */
  readonly #single = new Set<Client>();

  constructor(options: Pool.Options) {
    this.#options = options;
  }

  /** Number of origins with a pool. */
  get size(): number {
    return this.#pools.size;
  }

  /** Sends a request, like `dispatch` of undici's dispatchers. */
  dispatch(options: Outgoing, handler: Dispatcher.DispatchHandler): void {
    this.#poolOf(options.origin).dispatch(options, handler);
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

  /** Closes all pools after the running requests have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values(), ...this.#single].map((pool) => pool.close()));
  }

  /** Aborts the running requests and closes all pools. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values(), ...this.#single].map((pool) => pool.destroy()));
  }

  #poolOf(origin: string): Pool {
    const present = this.#pools.get(origin);
    if (present) return present;
    const pool = new Pool(origin, this.#options);
    pool.on('disconnect', () => {
      const { connected, size } = pool.stats;
      if (connected === 0 && size === 0 && this.#pools.peek(origin) === pool) this.#pools.delete(origin);
    });
    this.#pools.set(origin, pool);
    return pool;
  }
}
