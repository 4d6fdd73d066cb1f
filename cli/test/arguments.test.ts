import { durationMs, pointInTime, secondsMs, wholeNumber } from '../src/arguments.ts';
import { table } from '../src/print.ts';

describe('arguments', () => {
  test.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
  ])('%s is a duration', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  test.each(['', '30', 'd', '-1d', '1.5h', '1w', '1h30m', ' 1h'])('%j is no duration', (text) => {
    expect(() => durationMs(text)).toThrow('say 90s, 15m, 24h or 30d.');
  });

  test('seconds have fractions', () => {
    expect(secondsMs('0.05')).toBe(50);
    expect(secondsMs('2')).toBe(2_000);
    for (const text of ['', ' ', 'x', '-1', 'Infinity']) expect(() => secondsMs(text)).toThrow('a number of seconds');
  });

  test('whole numbers are whole', () => {
    expect(wholeNumber('5')).toBe(5);
    for (const text of ['', '1.5', '-1', '1e3', 'x']) expect(() => wholeNumber(text)).toThrow('a whole number');
  });

  test('a point in time is ISO 8601 or how long ago', () => {
    expect(pointInTime('2026-01-02T03:04:05Z').toISOString()).toBe('2026-01-02T03:04:05.000Z');
    const before = Date.now() - 3_600_000;
    expect(pointInTime('1h').getTime()).toBeGreaterThanOrEqual(before);
    expect(() => pointInTime('yesterday')).toThrow('ISO 8601');
  });
});

test('a table has its columns under their headings', () => {
  expect(
    table(
      ['ID', 'NAME'],
      [
        ['key_1', 'a'],
        ['k', 'long name'],
      ],
    ),
  ).toBe('ID     NAME\nkey_1  a\nk      long name');
});
