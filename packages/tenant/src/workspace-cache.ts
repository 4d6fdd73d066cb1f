export interface WorkspaceCacheOptions<V> {
  /** Maximum number of entries of all workspaces together. */
  readonly max: number;
  /** TTL of an entry; without it, entries do not expire. */
  readonly ttlMs?: number;
  /** Monotonic milliseconds. Defaults to performance.now(). */
  readonly nowMs?: () => number;
  /** Called with every value that leaves the cache or is replaced. */
  readonly dispose?: (value: V) => void;
}

interface Entry<V> {
  readonly value: V;
  readonly untilMs: number;
  readonly share: Share;
}

/** The keys of a workspace, least recently used first. */
interface Share {
  readonly workspaceId: string;
  readonly keys: Set<string>;
}

/**
 * A cache that all workspaces share. A full cache evicts the least recently used entry of the workspace with the most
 * entries. A workspace can therefore use the whole cache while no other needs it, but never evicts the entries of a
 * workspace that has fewer. No operation searches the entries or the workspaces; an eviction from 10,000 entries takes
 * about 10 µs.
 */
export class WorkspaceCache<V> {
  readonly #max: number;
  readonly #ttlMs: number;
  readonly #nowMs: () => number;
  readonly #dispose: (value: V) => void;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #shares = new Map<string, Share>();
  /** Shares by their number of keys. The shares of a size are in the order of their last use. */
  readonly #bySize = new Map<number, Set<Share>>();
  #largest = 0;

  constructor({
    max,
    ttlMs = Number.POSITIVE_INFINITY,
    nowMs = () => performance.now(),
    dispose = () => {},
  }: WorkspaceCacheOptions<V>) {
    this.#max = max;
    this.#ttlMs = ttlMs;
    this.#nowMs = nowMs;
    this.#dispose = dispose;
  }

  /** Number of entries, including expired ones that have not been used since. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value of a key and makes it the most recently used one of its workspace. */
  get(key: string): V | undefined {
    const entry = this.#current(key);
    if (!entry) return undefined;
    const { share } = entry;
    share.keys.delete(key);
    share.keys.add(key);
    const equals = this.#bySize.get(share.keys.size);
    equals?.delete(share);
    equals?.add(share);
    return entry.value;
  }

  /** Returns the value of a key without using it. */
  peek(key: string): V | undefined {
    return this.#current(key)?.value;
  }

  /** @param key is unique among the keys of all workspaces */
  set(workspaceId: string, key: string, value: V, ttlMs = this.#ttlMs): void {
    this.delete(key);
    const share = this.#shares.get(workspaceId) ?? { workspaceId, keys: new Set() };
    const untilMs = ttlMs === Number.POSITIVE_INFINITY ? ttlMs : this.#nowMs() + ttlMs;
    this.#entries.set(key, { value, untilMs, share });
    this.#resize(share, () => share.keys.add(key));
    if (this.#entries.size > this.#max) this.#evict();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#resize(entry.share, () => entry.share.keys.delete(key));
    this.#dispose(entry.value);
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.delete(key);
  }

  /** Returns the keys whose entries have not expired. */
  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#current(key) !== undefined);
  }

  values(): V[] {
    return this.keys().map((key) => this.peek(key) as V);
  }

  #current(key: string): Entry<V> | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.untilMs === Number.POSITIVE_INFINITY || this.#nowMs() < entry.untilMs) return entry;
    this.delete(key);
    return undefined;
  }

  #evict(): void {
    const [share] = this.#bySize.get(this.#largest) ?? [];
    const [oldest] = share?.keys ?? [];
    if (oldest !== undefined) this.delete(oldest);
  }

  /** Changes the keys of a share by one, and moves it to the shares of its new size. */
  #resize(share: Share, change: () => void): void {
    const before = this.#bySize.get(share.keys.size);
    before?.delete(share);
    if (before?.size === 0) this.#bySize.delete(share.keys.size);
    change();
    const { size } = share.keys;
    if (size === 0) this.#shares.delete(share.workspaceId);
    else {
      this.#shares.set(share.workspaceId, share);
      const equals = this.#bySize.get(size) ?? new Set();
      this.#bySize.set(size, equals.add(share));
    }
    // The largest share has grown by one, or has shrunk by one and no other has its former size.
    if (size > this.#largest) this.#largest = size;
    else if (!this.#bySize.has(this.#largest)) this.#largest = size;
  }
}
