import { LRUCache } from 'lru-cache';
import { type Dispatcher, Pool } from 'undici';

/** A pool without connections takes some 20 kB. */
const poolsKept = 1_000;

/**
 * undici's pools of connections, by origin. One is let go with its last connection; one that never had any, of an endpoint
 * that refuses them, stays for the next call: undici's own Agent makes a new one each time, at the price of the call.
 */
export class OriginPools {
  readonly #options: Pool.Options;
  readonly #pools = new LRUCache<string, Pool>({
    max: poolsKept,
    // Requests under way end first.
    dispose: (pool) => void pool.close().catch(() => {}),
  });

  constructor(options: Pool.Options) {
    this.#options = options;
  }

  /** Origins that have a pool. */
  get size(): number {
    return this.#pools.size;
  }

  /** As of undici's dispatchers. */
  request(options: Dispatcher.RequestOptions & { origin: string }): Promise<Dispatcher.ResponseData> {
    return this.#poolOf(options.origin).request(options);
  }

  /** Once the requests under way have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Breaks off what is under way. */
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
