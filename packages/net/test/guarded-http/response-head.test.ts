import { isLinear } from '@rms/testkit';
import { headerPairs, parsePartial } from '../../src/guarded-http/response-head.ts';

/** A quarter of the maximum head that an endpoint can send. */
const size = 4 * 1024;
const parts = [
  ' ',
  '\t',
  ' a',
  ':',
  ': ',
  '\r',
  '\n',
  '\r\n',
  'a: b\r\n',
  'HTTP/1.1 100 ',
  'HTTP/1.1 103 a\n\n',
  '\0',
  '\u00ff',
];
const repeated = (part: string) => (length: number) => part.repeat(length / part.length);

test.each(parts)('a value of %j takes time in proportion to its length', (part) => {
  const rawOf = (length: number) => [Buffer.from('X-A'), Buffer.from(`a${repeated(part)(length)}b`, 'latin1')];
  expect(isLinear(size, rawOf, headerPairs)).toBe(true);
});

test.each(parts)('a response of %j takes time in proportion to its length', (part) => {
  for (const start of ['', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\nX-A: a']) {
    for (const tail of ['', 'b']) {
      const bytesOf = (length: number) => Buffer.from(start + repeated(part)(length) + tail, 'latin1');
      expect([start, tail, isLinear(size, bytesOf, parsePartial)]).toEqual([start, tail, true]);
    }
  }
});

test.each([
  ['a', 'a'],
  [' \t a \t b \t ', 'a \t b'],
  [' \t ', ''],
  ['', ''],
  ['\u00a0 a \u00a0', '\u00a0 a \u00a0'],
])('white space around the value %j is removed', (sent, value) => {
  expect(headerPairs([Buffer.from('X-A'), Buffer.from(sent)])).toEqual([['x-a', value]]);
});
