/**
 * The upper bounds of the counts by which durations are kept, in milliseconds; a last count has what took longer. Counts
 * that were made under these bounds are stored: they never change.
 */
export const latencyBoundsMs = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** As many zeros as there are counts. */
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
 * The duration in milliseconds below which a share of all lies, 0 if there were none. Within the count that it falls into
 * durations are taken to be spread evenly, so that it is wrong by no more than that count is wide; what took longer than the
 * last bound is said to have taken as long as that.
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
