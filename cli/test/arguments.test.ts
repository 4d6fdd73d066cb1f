import {
  durationMs,
  environmentOption,
  pointInTime,
  positiveNumber,
  secondsMs,
  wholeNumber,
} from '../src/arguments.ts';
import { harmless, table } from '../src/print.ts';

describe('arguments', () => {
  test.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
    ['1w', 604_800_000],
  ])('parses the duration %s', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  test.each(['', '30', 'd', '-1d', '1.5h', '1y', '1h30m', ' 1h', '9999999999d'])('rejects the duration %j', (text) => {
    expect(() => durationMs(text)).toThrow('Expected a duration such as 90s, 15m, 24h, 30d or 1w.');
  });

  test('seconds may have fractions', () => {
    expect(secondsMs('0.05')).toBe(50);
    expect(secondsMs('2')).toBe(2_000);
    // Rounds to whole milliseconds: 1.005 × 1000 is less than 1005.
    expect(secondsMs('1.005')).toBe(1_005);
    for (const text of ['', ' ', '.', 'x', '-1', '1e3', 'Infinity'])
      expect(() => secondsMs(text)).toThrow('a number of seconds');
  });

  test('parses whole numbers and rejects anything else', () => {
    expect(wholeNumber('5')).toBe(5);
    for (const text of ['', '1.5', '-1', '1e3', 'x']) expect(() => wholeNumber(text)).toThrow('a whole number');
  });

  test('a point in time is ISO 8601 or a duration ago', () => {
    expect(pointInTime('2026-01-02T03:04:05Z').toISOString()).toBe('2026-01-02T03:04:05.000Z');
    const before = Date.now() - 3_600_000;
    expect(pointInTime('1h').getTime()).toBeGreaterThanOrEqual(before);
    expect(pointInTime('1w').getTime()).toBeLessThan(before - 6 * 86_400_000);
    for (const text of ['yesterday', '5', '', '2026', '2026-13-01', '+012026-01-02', '999999999d']) {
      expect(() => pointInTime(text)).toThrow('ISO 8601');
    }
  });

  test.each([
    ['live', 'live'],
    ['sandbox', 'sandbox'],
    ['test', 'sandbox'],
  ])('the environment %s is %s', (text, environment) => {
    expect(environmentOption('').parseArg?.(text, undefined)).toBe(environment);
  });

  test('an unknown environment is rejected with the known ones', () => {
    expect(() => environmentOption('').parseArg?.('production', undefined)).toThrow('live, sandbox');
  });

  test('a limit is greater than 0', () => {
    expect(positiveNumber('1')).toBe(1);
    for (const text of ['0', '-1', '1.5']) expect(() => positiveNumber(text)).toThrow('a whole number');
  });
});

test('a table aligns its columns with their headings', () => {
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

test.each([
  ['wide characters', 'キー', 4],
  ['full-width forms', 'ＡＢ', 4],
  ['decomposed accents', 'e\u0301a', 2],
  ['stacked marks', 'ก\u0e34\u0e48', 1],
  ['an emoji of several code points', '👩‍👩‍👧', 2],
  ['a flag', '🇮🇳', 2],
  ['right-to-left text', 'שלום', 4],
  ['characters without width', 'a\u200bb\u00ad', 2],
  ['control characters, which are replaced', 'a\u001b[31m\u202e', 7],
])('a table is aligned with %s', (_, name, width) => {
  const [heading, row, other] = table(
    ['NAME', 'ID'],
    [
      [name, 'key_1'],
      ['eight888', 'key_2'],
    ],
  ).split('\n');
  expect([heading, row, other]).toEqual([
    'NAME      ID',
    `${harmless(name)}${' '.repeat(8 - width)}  key_1`,
    'eight888  key_2',
  ]);
});

test('control characters are replaced; line breaks and tabs are kept', () => {
  expect(harmless('a\tb\n\u001b[31m\u009b\r\u202ec')).toBe('a\tb\n\ufffd[31m\ufffd\ufffd\ufffdc');
});
