/** Minimum duration of a measured run. */
const minRunMs = 1;
const minRuns = 5;
const maxRuns = 500;
/** Between 4, the ratio of linear work, and 16, that of quadratic work. */
const maxRatio = 8;

/**
 * Returns whether the time that `work` takes grows in proportion to its input: whether an input of four times the size
 * takes less than eight times as long. Compares the fastest of several runs, and repeats them while the result could be
 * due to other load.
 * @param size of the smaller input, as passed to `inputOf`
 */
export function isLinear<T>(size: number, inputOf: (size: number) => T, work: (input: T) => unknown): boolean {
  const [small, large] = [inputOf(size), inputOf(4 * size)];
  let repeats = 1;
  while (durationMs(small, repeats) < minRunMs) repeats *= 2;
  let [smallMs, largeMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let run = 1; run <= maxRuns; run += 1) {
    smallMs = Math.min(smallMs, durationMs(small, repeats));
    largeMs = Math.min(largeMs, durationMs(large, repeats));
    if (run >= minRuns && largeMs / smallMs < maxRatio) return true;
  }
  return false;

  function durationMs(input: T, times: number): number {
    const startedAtMs = performance.now();
    for (let i = 0; i < times; i += 1) work(input);
    return performance.now() - startedAtMs;
  }
}
