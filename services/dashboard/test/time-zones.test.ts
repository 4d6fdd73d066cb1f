import { intervalText } from '../web/src/features/metrics/ranges.ts';
import { toLocal, toUtc } from '../web/src/local-time.ts';

const zones = [
  'Pacific/Pago_Pago',
  'America/Sao_Paulo',
  'UTC',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Pacific/Kiritimati',
] as const;

const points = (from: string, stepMs: number, count: number) =>
  Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * stepMs).toISOString());
const hourMs = 3_600_000;

describe.each(zones)('in %s', (zone) => {
  let before: string | undefined;
  beforeAll(() => {
    before = process.env.TZ;
    process.env.TZ = zone;
  });
  afterAll(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });

  test('the days of a chart have the names of the days of UTC that they count', () => {
    expect(intervalText('day', '2026-11-01T00:00:00.000Z', zone, 'en-US')).toBe('Nov 1, 2026 UTC');
    expect(intervalText('day', '2026-12-31T00:00:00.000Z', zone, 'en-US')).toBe('Dec 31, 2026 UTC');
  });

  test.each([
    ['2026-03-28T12:00:00.000Z', 'the start of summer time in Berlin'],
    ['2026-10-24T12:00:00.000Z', 'its end'],
    ['2018-11-03T12:00:00.000Z', 'the start of summer time in Sao Paulo'],
    ['2018-02-17T12:00:00.000Z', 'its end'],
  ])('the 24 hours of a chart from %s, with %s, have different names', (from) => {
    const names = points(from, hourMs, 24).map((at) => intervalText('hour', at, zone, 'en-US'));
    expect(new Set(names).size).toBe(24);
    expect(names.every((name) => name.includes(zone === 'Asia/Kolkata' ? ':30' : ':00'))).toBe(true);
  });

  test.each([
    '2026-11-28T00:00:00.000Z',
    '2026-11-28T23:30:00.000Z',
    '2026-03-29T00:30:00.000Z',
    '2026-03-29T01:30:00.000Z',
    '2018-11-04T03:30:00.000Z',
    '2018-02-18T03:30:00.000Z',
  ])('a filter from %s is shown in local time and keeps its meaning', (at) => {
    const local = toLocal(at);
    expect(local).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/);
    const [date, time] = local.split('T');
    const shown = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' }).format(new Date(at));
    expect(shown).toBe(`${date} ${time}`);
    expect(toUtc(local)).toBe(at);
  });
});

test('an incomplete or impossible time is no filter', () => {
  for (const local of ['', '12026-01-01T00:00', '2026-13-01T00:00']) expect(toUtc(local)).toBe('');
  expect([toLocal(undefined), toLocal('soon')]).toEqual(['', '']);
});
