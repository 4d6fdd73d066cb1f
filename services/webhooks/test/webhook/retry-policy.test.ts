import { defaultRetryPolicy, nextDelayMs, parseRetryAfter } from '../../src/webhook/retry-policy.ts';
import { checkRetryPolicy } from '../../src/webhook/webhook.ts';

const middle = 0.5;

describe('retry policy', () => {
  test('the default is 5 retries after about 1 min, 5 min, 30 min, 2 h and 12 h', () => {
    const delays = [1, 2, 3, 4, 5, 6].map((tries) => nextDelayMs(defaultRetryPolicy, tries, 0, middle));
    expect(delays).toEqual([60_000, 300_000, 1_800_000, 7_200_000, 43_200_000, undefined]);
  });

  test('jitter moves a delay by at most a tenth', () => {
    expect(nextDelayMs(defaultRetryPolicy, 1, 0, 0)).toBe(54_000);
    expect(nextDelayMs(defaultRetryPolicy, 1, 0, 1)).toBe(66_000);
  });

  test('a custom policy applies its number of retries, initial delay and maximum delay', () => {
    const policy = { maxRetries: 8, initialDelayMs: 100, maxDelayMs: 100_000 };
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((tries) => nextDelayMs(policy, tries, 0, middle));
    expect(delays).toEqual([100, 500, 3_000, 12_000, 72_000, 100_000, 100_000, 100_000, undefined]);
    expect(nextDelayMs({ ...policy, maxRetries: 0 }, 1)).toBeUndefined();
  });

  test('an explicit schedule replaces all other settings and has jitter', () => {
    const policy = { ...defaultRetryPolicy, delaysMs: [1_000, 50, 70_000] };
    expect([1, 2, 3, 4].map((tries) => nextDelayMs(policy, tries, 0, middle))).toEqual([1_000, 50, 70_000, undefined]);
    expect(nextDelayMs(policy, 1, 0, 1)).toBe(1_100);
    expect(nextDelayMs(policy, 2, 3_000, middle)).toBe(3_000);
    expect(nextDelayMs({ ...policy, delaysMs: [] }, 1)).toBeUndefined();
  });

  test('a longer Retry-After is honored and capped at a day', () => {
    expect(nextDelayMs(defaultRetryPolicy, 1, 120_000, middle)).toBe(120_000);
    expect(nextDelayMs(defaultRetryPolicy, 1, 5_000, middle)).toBe(60_000);
    expect(nextDelayMs(defaultRetryPolicy, 1, 1e12, middle)).toBe(86_400_000);
    expect(nextDelayMs(defaultRetryPolicy, 6, 5_000, middle)).toBeUndefined();
  });

  test('Retry-After is parsed as seconds and as a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(parseRetryAfter('120', now)).toBe(120_000);
    expect(parseRetryAfter('9'.repeat(20), now)).toBeGreaterThan(24 * 3_600_000);
    expect(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000);
    expect(parseRetryAfter('Thu, 01 Jan 2020 00:01:00 GMT', now)).toBe(0);
    for (const nonsense of ['soon', '-1', '1.5.2', '']) expect(parseRetryAfter(nonsense, now)).toBeUndefined();
    expect(parseRetryAfter(undefined, now)).toBeUndefined();
  });

  test.each([
    [{ maxRetries: -1 }, 'max_retries'],
    [{ maxRetries: 51 }, 'max_retries'],
    [{ initialDelayMs: 1 }, 'initial_delay'],
    [{ maxDelayMs: 10 }, 'max_delay'],
    [{ maxDelayMs: 8 * 86_400_000 }, 'max_delay'],
    [{ delaysMs: Array.from({ length: 51 }, () => 1_000) }, 'delays'],
    [{ delaysMs: [1_000, 9] }, 'delays'],
    [{ delaysMs: [8 * 86_400_000] }, 'delays'],
  ])('%j is rejected', (change, field) => {
    expect(checkRetryPolicy({ ...defaultRetryPolicy, ...change }).map((violation) => violation.field)).toEqual([field]);
    expect(checkRetryPolicy(defaultRetryPolicy)).toEqual([]);
  });
});
