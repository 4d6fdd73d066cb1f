import { LRUCache } from 'lru-cache';
import { type Dispatcher, Pool } from 'undici';

/** A pool without connections takes about 20 kB. */
const poolsKept = 1_000;

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

  constructor(options: Pool.Options) {
    this.#options = options;
  }

  /** Number of origins with a pool. */
  get size(): number {
    return this.#pools.size;
  }

  /** Sends a request, like `request` of undici's dispatchers. */
  request(options: Dispatcher.RequestOptions & { origin: string }): Promise<Dispatcher.ResponseData> {
    return this.#poolOf(options.origin).request(options);
  }

  /** Closes all pools after the running requests have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Aborts the running requests and closes all pools. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
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
