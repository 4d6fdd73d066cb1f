import { parseHttpDate } from '../../src/webhook/retry-policy.ts';

const nowMs = Date.UTC(2026, 0, 1);
const parse = (text: string) => parseHttpDate(text, nowMs);

test.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
  'the form "%s" is parsed',
  (text) => {
    expect(parse(text)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
  },
);

test('a year with two digits is at most 50 years in the future', () => {
  expect(parse('Friday, 01-Jan-76 00:00:00 GMT')).toBe(Date.UTC(2076, 0, 1));
  expect(parse('Saturday, 01-Jan-77 00:00:00 GMT')).toBe(Date.UTC(1977, 0, 1));
});

test('a leap second and a leap day are accepted', () => {
  expect(parse('Sat, 31 Dec 2016 23:59:60 GMT')).toBe(Date.UTC(2017, 0, 1));
  expect(parse('Thu, 29 Feb 2024 00:00:00 GMT')).toBe(Date.UTC(2024, 1, 29));
});

test.each([
  '',
  '2026-01-01T00:00:00Z',
  'Thu, 01 Jan 2026 00:00:00 UTC',
  'Thu, 01 Jan 2026 00:00:00 +0000',
  'Thu, 1 Jan 2026 00:00:00 GMT',
  'Thu, 32 Jan 2026 00:00:00 GMT',
  'Sun, 29 Feb 2026 00:00:00 GMT',
  'Thu, 01 Jan 2026 24:00:00 GMT',
  'Thu, 01 Foo 2026 00:00:00 GMT',
  'thu, 01 jan 2026 00:00:00 gmt',
  '01 Jan 2026',
])('"%s" is not an HTTP date', (text) => {
  expect(parse(text)).toBeUndefined();
});
