const batchLimit = 1_000;

/** The items in order, in as many parts as calls are needed. */
export function* inBatches<T>(items: readonly T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += batchLimit) yield items.slice(start, start + batchLimit);
}
