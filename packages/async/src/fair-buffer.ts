import { FairQueue } from './fair-queue.ts';

export interface FairBufferOptions<T> {
  readonly tenantOf: (item: T) => string;
  readonly maxBatch: number;
  /** Size of an item; needed if `maxBytes` is set. */
  readonly bytesOf: (item: T) => number;
  /** A batch ends with the item that brings it to this size. */
  readonly maxBytes: number;
  /** Whether a tenant is in at most one batch at a time. */
  readonly isExclusive: boolean;
}

/**
 * Items that leave in batches. A batch takes one item of each tenant in turn, so that a tenant with many or large items
 * delays the items of another by at most the batches in flight and one more. Items of a tenant leave in order.
 */
export class FairBuffer<T> {
  readonly #options: FairBufferOptions<T>;
  readonly #queue = new FairQueue<T>();

  constructor(options: FairBufferOptions<T>) {
    this.#options = options;
  }

  /** Number of items, also of tenants in an exclusive batch. */
  get size(): number {
    return this.#queue.size;
  }

  push(item: T): void {
    this.#queue.push(this.#options.tenantOf(item), item);
  }

  /**
   * Removes and returns the next batch; empty if there is none. Items that are not `wanted` are removed and left out.
   * Call {@link end} when the batch is done.
   */
  take(wanted: (item: T) => boolean): T[] {
    const { tenantOf, maxBatch, bytesOf, maxBytes, isExclusive } = this.#options;
    const batch: T[] = [];
    let bytes = 0;
    while (batch.length < maxBatch && bytes < maxBytes) {
      const item = this.#queue.shift();
      if (item === undefined) break;
      if (!wanted(item)) continue;
      batch.push(item);
      bytes += bytesOf(item);
    }
    if (isExclusive) for (const item of batch) this.#queue.hold(tenantOf(item));
    return batch;
  }

  /** Lets a batch's tenants be in the next ones. */
  end(batch: readonly T[]): void {
    const { tenantOf, isExclusive } = this.#options;
    if (isExclusive) for (const item of batch) this.#queue.release(tenantOf(item));
  }
}
