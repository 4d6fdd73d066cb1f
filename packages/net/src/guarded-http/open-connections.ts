import { FairCache } from '@rms/async';

/** Connections to endpoints that stay open after their requests, of all pools of a process. */
export const connectionLimits = { total: 3_000, ofWorkspace: 768 } as const;

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
