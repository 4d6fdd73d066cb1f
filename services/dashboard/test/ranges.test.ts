import { presetOf, rangeOf } from '../web/src/features/metrics/ranges.ts';

const nowMs = Date.parse('2026-03-10T10:20:30.500Z');
const since = (days: number) => new Date(nowMs - days * 86_400_000).toISOString();

describe('The time range of the charts', () => {
  test.each([
    [{}, 'minute', '2026-03-10T09:21:00.000Z'],
    [{ span: 'day' }, 'hour', '2026-03-09T11:00:00.000Z'],
    [{ span: 'week' }, 'hour', '2026-03-03T11:00:00.000Z'],
    [{ span: 'month' }, 'day', '2026-02-08T00:00:00.000Z'],
    [{ span: 'unknown' }, 'minute', '2026-03-10T09:21:00.000Z'],
  ])('of %j ends with the current interval', (search, granularity, from) => {
    expect(rangeOf(search, nowMs)).toEqual({ granularity, from });
  });

  test.each([
    [0.1, undefined, 'minute'],
    [1.9, 1.8, 'minute'],
    // Minutes are kept for 2 days.
    [2.1, 2, 'hour'],
    [0.21, undefined, 'hour'],
    [1, undefined, 'hour'],
    [13, 1, 'hour'],
    [15, undefined, 'day'],
    // Hours are kept for 35 days.
    [36, 35, 'day'],
  ])('since %s days until %s days ago is shown by %3$s', (from, until, granularity) => {
    const search = { since: since(from), ...(until === undefined ? {} : { until: since(until) }) };
    expect(presetOf(search)).toBe(undefined);
    expect(rangeOf(search, nowMs)).toEqual({
      granularity,
      from: search.since,
      ...(until === undefined ? {} : { to: since(until) }),
    });
  });
});
