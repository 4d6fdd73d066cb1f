import { environmentOf, formatSearch, parseSearch, textSearch } from '../web/src/search.ts';

test('search parameters are plain strings in the URL', () => {
  for (const [search, text] of [
    [{ live: '1' }, '?live=1'],
    [{ request: '12345', status: 'failed,retrying' }, '?request=12345&status=failed%2Cretrying'],
    [{ name: 'true', text: '"{}' }, '?name=true&text=%22%7B%7D'],
    [{}, ''],
  ] as const) {
    expect(formatSearch(search)).toBe(text);
    expect(parseSearch(text)).toEqual(search);
  }
  expect(formatSearch({ live: '', cursor: undefined, status: 'failed' })).toBe('?status=failed');
  expect(textSearch('live')(parseSearch('?live=1&other=2'))).toEqual({ live: '1' });
});

test('the environment "test" in a path is the sandbox, and an unknown one is undefined', () => {
  expect(['live', 'sandbox', 'test', 'Live', 'constructor', ''].map(environmentOf)).toEqual([
    'live',
    'sandbox',
    'sandbox',
    undefined,
    undefined,
    undefined,
  ]);
});
