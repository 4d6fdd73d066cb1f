/** A queue with operations in amortized constant time. `Array.shift` moves all items of a long array. */
class Queue<T> {
  readonly #items: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    if (this.size === 0) {
      this.#items.length = 0;
      this.#first = 0;
    } else if (this.#first > 1_000 && this.#first > this.size) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}

/** A tenant's items. */
interface Own<T> {
  readonly tenant: string;
  readonly items: Queue<T>;
  /** Whether it is in the tenant order. */
  queued: boolean;
  held: boolean;
}

/**
 * Queued items of tenants, for example workspaces. They are served round-robin, one item each, so that a tenant with
 * many items delays the others by one item per round. Items of a tenant keep their order. All operations take amortized
 * constant time, however many tenants have items.
 */
export class FairQueue<T> {
  /** Tenants with items, and held tenants. */
  readonly #tenants = new Map<string, Own<T>>();
  readonly #order = new Queue<Own<T>>();
  #size = 0;

  /** Number of items, including items of held tenants. */
  get size(): number {
    return this.#size;
  }

  push(tenant: string, item: T): void {
    const own = this.#own(tenant);
    own.items.push(item);
    this.#size += 1;
    this.#enqueue(own);
  }

  /**
   * Removes and returns the first item of the next tenant. All other tenants come before its next item. Returns
   * undefined if no tenant has an item, except held ones.
   */
  shift(): T | undefined {
    for (let own = this.#order.shift(); own; own = this.#order.shift()) {
      own.queued = false;
      if (own.held) continue;
      const item = own.items.shift();
      this.#size -= 1;
      this.#enqueue(own);
      this.#forgetIfEmpty(own);
      return item;
    }
    return undefined;
  }

  /** Leaves a tenant out until it is released. */
  hold(tenant: string): void {
    this.#own(tenant).held = true;
  }

  release(tenant: string): void {
    const own = this.#tenants.get(tenant);
    if (!own) return;
    own.held = false;
    this.#enqueue(own);
    this.#forgetIfEmpty(own);
  }

  #own(tenant: string): Own<T> {
    const present = this.#tenants.get(tenant);
    if (present) return present;
    const own = { tenant, items: new Queue<T>(), queued: false, held: false };
    this.#tenants.set(tenant, own);
    return own;
  }

  #enqueue(own: Own<T>): void {
    if (own.queued || own.held || own.items.size === 0) return;
    own.queued = true;
    this.#order.push(own);
  }

  #forgetIfEmpty({ tenant, items, held }: Own<T>): void {
    if (items.size === 0 && !held) this.#tenants.delete(tenant);
  }
}
