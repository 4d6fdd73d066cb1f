import { parseTraceparent, traceIdOf, traceparentOf } from '../src/index.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

describe('traceparent', () => {
  test.each([
    [`00-${trace}-${span}-01`, 1],
    [`00-${trace}-${span}-00`, 0],
    [`00-${trace}-${span}-03`, 1],
    [`01-${trace}-${span}-01-what-comes-later`, 1],
  ])('%s is parsed', (text, traceFlags) => {
    expect(parseTraceparent(text)).toEqual({ traceId: trace, spanId: span, traceFlags, isRemote: true });
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
    expect(parseTraceparent(text)).toBeUndefined();
    expect(traceIdOf(text ?? '')).toBe('');
  });

  test('round-trips, except for unknown flags', () => {
    const read = (text: string) => traceparentOf(parseTraceparent(text) ?? fail());
    expect(read(`00-${trace}-${span}-01`)).toBe(`00-${trace}-${span}-01`);
    expect(read(`01-${trace}-${span}-02-more`)).toBe(`00-${trace}-${span}-00`);
  });
});

function fail(): never {
  throw new Error('it is a traceparent');
}
