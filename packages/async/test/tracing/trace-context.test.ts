import { parseTraceContext, traceContextOf, traceIdOf } from '../../src/tracing/index.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

describe('traceparent', () => {
  test.each([
    [`00-${trace}-${span}-01`, 1],
    [`00-${trace}-${span}-00`, 0],
    [`00-${trace}-${span}-02`, 2],
    [`00-${trace}-${span}-03`, 3],
    [`00-${trace}-${span}-fd`, 1],
    [`01-${trace}-${span}-01-what-comes-later`, 1],
  ])('%s is parsed', (text, traceFlags) => {
    expect(parseTraceContext({ traceparent: text })).toEqual({
      traceId: trace,
      spanId: span,
      traceFlags,
      isRemote: true,
    });
    expect(traceIdOf(text)).toBe(trace);
  });

  test.each([
    undefined,
    '',
    'nonsense',
    `ff-${trace}-${span}-01`,
    `00-${trace}-${span}-01-more`,
    `00-${trace}-${span}-0`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    ` 00-${trace}-${span}-01`,
  ])('%j is not a traceparent', (text) => {
    expect(parseTraceContext({ traceparent: text, tracestate: 'a=1' })).toBeUndefined();
    expect(traceIdOf(text ?? '')).toBe('');
  });

  test('round-trips, except for unknown flags', () => {
    const read = (traceparent: string) => traceContextOf(parseTraceContext({ traceparent }) ?? fail()).traceparent;
    expect(read(`00-${trace}-${span}-01`)).toBe(`00-${trace}-${span}-01`);
    expect(read(`01-${trace}-${span}-06-more`)).toBe(`00-${trace}-${span}-02`);
  });
});

describe('tracestate', () => {
  const traceparent = `00-${trace}-${span}-01`;
  const read = (tracestate: string | undefined) =>
    traceContextOf(parseTraceContext({ traceparent, tracestate }) ?? fail()).tracestate;
  const member = (key: string, length: number) => `${key}=${'x'.repeat(length - key.length - 1)}`;
  const members = (count: number, length: number) => Array.from({ length: count }, (_, i) => member(`k${i}`, length));

  test.each([
    ['absent', undefined, ''],
    ['empty', '', ''],
    ['one member', 'rojo=00f067aa0ba902b7', 'rojo=00f067aa0ba902b7'],
    ['in order', 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7', 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'],
    ['spaces around members', 'a=1 , \tb=2', 'a=1,b=2'],
    ['spaces within a value', 'a= 1 2,b=3', 'a= 1 2,b=3'],
    ['empty members', ',a=1,,b=2,', 'a=1,b=2'],
    ['all characters of keys', 'a_-*/0@b=1,0=2', 'a_-*/0@b=1,0=2'],
    [
      'the longest key and value',
      `${'k'.repeat(100)}=1,a=${'v'.repeat(256)}`,
      `${'k'.repeat(100)}=1,a=${'v'.repeat(256)}`,
    ],
    ['a key that is too long', `${'k'.repeat(257)}=1,b=2`, 'b=2'],
    ['a value that is too long', `a=${'v'.repeat(257)},b=2`, 'b=2'],
    ['an invalid key', 'A=1,=2,_a=3,b c=4,d=5', 'd=5'],
    ['an invalid value', 'a=1=2,b=,c=ä,d=\u0000,e=5', 'e=5'],
    ['no equals sign', 'a,b=2', 'b=2'],
    ['a repeated key', 'a=1,b=2,a=3', 'a=1,b=2'],
    ['invalid members only', 'A,B', ''],
  ])('%s', (_, text, expected) => {
    expect(read(text)).toBe(expected);
  });

  test('has at most 32 members and 512 characters; the members at the right are dropped', () => {
    expect(read(members(33, 5).join(','))).toBe(members(32, 5).join(','));
    const exact = [...members(7, 64), member('last', 57)];
    expect(exact.join(',')).toHaveLength(512);
    expect(read(exact.join(','))).toBe(exact.join(','));
    expect(read([...members(8, 64)].join(','))).toBe(members(7, 64).join(','));
  });

  test('if it is too long, members of more than 128 characters are dropped first', () => {
    const short = members(4, 100);
    const list = [member('long', 129), ...short, member('kept', 100)];
    expect(read(list.join(','))).toBe([...short, member('kept', 100)].join(','));
    expect(read([member('long', 129), ...members(3, 100)].join(','))).toBe(
      [member('long', 129), ...members(3, 100)].join(','),
    );
  });

  test('can be read and changed by OpenTelemetry', () => {
    const state = parseTraceContext({ traceparent, tracestate: 'a=1,b=2' })?.traceState;
    expect([state?.get('a'), state?.get('b'), state?.get('c')]).toEqual(['1', '2', undefined]);
    expect(state?.set('b', '3').serialize()).toBe('b=3,a=1');
    expect(state?.unset('a').serialize()).toBe('b=2');
    expect(state?.unset('a').unset('b').serialize()).toBe('');
  });
});

function fail(): never {
  throw new Error('it is a traceparent');
}
