import fc from 'fast-check';
import { addLatency, latencyBoundsMs, latencyQuantile, noLatencies } from '../../src/usage/index.ts';

const countsOf = (durationsMs: readonly number[]) => {
  const counts = noLatencies();
  for (const durationMs of durationsMs) addLatency(counts, durationMs);
  return counts;
};

describe('latency histograms', () => {
  test('a duration equal to a bound counts below it, and durations above all bounds count in the last bucket', () => {
    const counts = countsOf([1, 1.001, 10_000, 10_001]);
    expect([counts[0], counts[1], counts.at(-2), counts.at(-1)]).toEqual([1, 1, 1, 1]);
    expect(counts).toHaveLength(latencyBoundsMs.length + 1);
  });

  test('the quantile is 0 without durations, and the last bound for durations above it', () => {
    expect(latencyQuantile(noLatencies(), 0.95)).toBe(0);
    expect(latencyQuantile(countsOf([60_000, 90_000]), 0.95)).toBe(10_000);
  });

  test('a quantile is in the same bucket as the exact value', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 9_999, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (durationsMs, share) => {
          const sorted = [...durationsMs].sort((one, other) => one - other);
          const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
          const upper = latencyBoundsMs.find((bound) => exact <= bound) ?? 0;
          const lower = latencyBoundsMs[latencyBoundsMs.indexOf(upper) - 1] ?? 0;
          const estimate = latencyQuantile(countsOf(durationsMs), share);
          expect(estimate).toBeGreaterThanOrEqual(lower);
          expect(estimate).toBeLessThanOrEqual(upper);
        },
      ),
    );
  });
});
