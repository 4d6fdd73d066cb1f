import { createAgreement } from '../../src/db/agreed-clock.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2026, 0, 1);

/** An instance that reads a database's clock, which is `aheadMs` ahead, after `afterMs` of real time. */
function instance() {
  const agree = createAgreement();
  return (afterMs: number, aheadMs: number, stored: number | null = null) =>
    agree({ databaseMs: startMs + afterMs + aheadMs, storedMs: stored, monotonicMs: 1_000 + afterMs }) - startMs;
}

describe('the agreed time', () => {
  test('is that of the database while it advances like the monotonic clock, and when it is set back', () => {
    const at = instance();
    expect([at(0, 0), at(minuteMs, 0), at(2 * minuteMs, 4 * minuteMs)]).toEqual([0, minuteMs, 6 * minuteMs]);
    expect(at(3 * minuteMs, -hourMs)).toBe(3 * minuteMs - hourMs);
  });

  test('does not follow a clock that is ahead for up to an hour', () => {
    const at = instance();
    at(0, 0);
    for (let minutes = 1; minutes <= 60; minutes += 1) {
      expect(at(minutes * minuteMs, 40 * dayMs)).toBe(minutes * minuteMs);
    }
    expect(at(61 * minuteMs, 0)).toBe(61 * minuteMs);
  });

  test('follows at two days per hour after an hour, and then agrees', () => {
    const at = instance();
    at(0, 0);
    at(minuteMs, 40 * dayMs);
    const paused = at(hourMs, 40 * dayMs);
    expect(paused).toBe(hourMs);
    at(hourMs + minuteMs, 40 * dayMs);
    const later = at(2 * hourMs + 2 * minuteMs, 40 * dayMs);
    expect(later - paused).toBeGreaterThan(2 * dayMs);
    expect(later - paused).toBeLessThanOrEqual(2 * dayMs + 2 * hourMs);
    const end = at(24 * hourMs, 40 * dayMs);
    expect(end).toBe(24 * hourMs + 40 * dayMs);
    expect(at(24 * hourMs + minuteMs, 40 * dayMs)).toBe(24 * hourMs + minuteMs + 40 * dayMs);
  });

  test('of a restarted instance continues from the stored one, but not across more than an hour', () => {
    expect(instance()(hourMs, 0, startMs)).toBe(hourMs);
    expect(instance()(minuteMs, 40 * dayMs, startMs)).toBe(0);
  });

  test('follows an instance that has seen the clock advance', () => {
    const suspended = instance();
    suspended(0, 0, null);
    // Its monotonic clock stood still for a day, during which another instance has agreed on the time.
    expect(suspended(minuteMs, dayMs, startMs + dayMs)).toBe(minuteMs + dayMs);
  });
});
