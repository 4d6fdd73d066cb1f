const batchLimit = 1_000;

/** Splits the items into batches of at most 1,000, the batch RPCs' limit. */
export function* inBatches<T>(items: readonly T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += batchLimit) yield items.slice(start, start + batchLimit);
}
