/**
 * Upper bounds of the latency buckets, in milliseconds; an additional last bucket counts longer durations. Stored
 * counts depend on these bounds, so they must not change.
 */
export const latencyBoundsMs = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** Returns zeros for all buckets. */
export function noLatencies(): number[] {
  return new Array<number>(latencyBoundsMs.length + 1).fill(0);
}

/** Counts one duration. */
export function addLatency(counts: number[], durationMs: number): void {
  let i = 0;
  while (i < latencyBoundsMs.length && durationMs > (latencyBoundsMs[i] as number)) i += 1;
  counts[i] = (counts[i] ?? 0) + 1;
}

/**
 * Estimates a quantile: the duration in milliseconds below which `share` of all durations lie; 0 if no duration was
 * counted. Durations are assumed to be evenly distributed within a bucket, so the error is at most the bucket's width.
 * Durations above the last bound count as equal to it.
 */
export function latencyQuantile(counts: readonly number[], share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return 0;
  const rank = share * total;
  let before = 0;
  for (const [i, count] of counts.entries()) {
    if (count > 0 && before + count >= rank) {
      const upper = latencyBoundsMs[i];
      if (upper === undefined) break;
      const lower = latencyBoundsMs[i - 1] ?? 0;
      return lower + ((upper - lower) * Math.max(0, rank - before)) / count;
    }
    before += count;
  }
  return latencyBoundsMs.at(-1) ?? 0;
}
