import { RmsError } from '@rms/base/errors';
import { cutPage, makePageToken, type PageStart, readFullPage, readPageToken, tokensOf } from '@rms/postgres/db';
import fc from 'fast-check';

const keys = [Buffer.alloc(32, 7)] as const;

const starts = fc.record<PageStart>({
  direction: fc.constantFrom('after', 'before'),
  keys: fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 2 }),
  page: fc.integer({ min: 1, max: 1e6 }),
});

describe('page tokens', () => {
  test('a token round-trips with any text in its keys', () => {
    fc.assert(
      fc.property(starts, fc.string(), (start, binding) => {
        expect(readPageToken(keys, binding, makePageToken(keys, binding, start))).toEqual(start);
      }),
    );
  });

  test.each(['a', 'A.', '.', '-_', '=', ' ', '%00', '\ud800'])('a token of 64 KiB of "%s" is rejected', (part) => {
    expect(() => readPageToken(keys, 'a list', part.repeat(65_536 / part.length))).toThrow(RmsError);
  });

  test('a token is rejected for another listing, with another key, or with any changed character', () => {
    const token = makePageToken(keys, 'a list', { direction: 'after', keys: ['x'], page: 2 });
    const refused = (read: () => unknown) => void expect(read).toThrow(RmsError);
    refused(() => readPageToken(keys, 'another list', token));
    refused(() => readPageToken([Buffer.alloc(32, 8)], 'a list', token));
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'A' ? 'B' : 'A';
      refused(() => readPageToken(keys, 'a list', token.slice(0, at) + other + token.slice(at + 1)));
    }
    fc.assert(fc.property(fc.string({ minLength: 1 }), (text) => refused(() => readPageToken(keys, 'a list', text))));
  });

  test('an empty token is the first page', () => {
    expect(readPageToken(keys, 'a list', '')).toBeUndefined();
  });
});

describe('a filtered list', () => {
  /** Items that match, and the number of rows that a read visits. */
  const visited = 10;
  const listOf = (matching: readonly number[], length: number) => {
    let reads = 0;
    const read = async (start: PageStart | undefined, limit: number) => {
      reads += 1;
      const step = start?.direction === 'before' ? -1 : 1;
      const from = start ? Number(start.keys[0]) + step : 0;
      const rows: number[] = [];
      for (let i = from; i >= 0 && i < length; i += step) {
        if (matching.includes(i)) rows.push(i);
        if (rows.length === limit) break;
        if (Math.abs(i - from) === visited - 1) return { rows: ordered(rows, step), scanEnd: [String(i)] };
      }
      return { rows: ordered(rows, step), scanEnd: undefined };
    };
    return { read, reads: () => reads };
  };
  const ordered = (rows: readonly number[], step: number) => (step === 1 ? rows : rows.toReversed());

  test('a page is filled by several reads, in both directions', async () => {
    const list = listOf([3, 25, 39, 40], 100);
    expect(await readFullPage(undefined, 3, list.read)).toEqual({ rows: [3, 25, 39], scanEnd: undefined });
    expect(list.reads()).toBe(4);
    const before: PageStart = { direction: 'before', keys: ['40'], page: 2 };
    expect((await readFullPage(before, 3, list.read)).rows).toEqual([3, 25, 39]);
  });

  test('a page reads at most ten times, and continues where the last read stopped', async () => {
    const list = listOf([5, 150], 200);
    expect(await readFullPage(undefined, 3, list.read)).toEqual({ rows: [5], scanEnd: ['99'] });
    expect(list.reads()).toBe(10);
  });
});

describe('a walk', () => {
  const all = Array.from({ length: 23 }, (_, i) => String(i).padStart(2, '0'));
  const read = (start: PageStart | undefined, limit: number) => {
    const [from = ''] = start?.keys ?? [];
    if (start?.direction === 'before') return all.filter((item) => item < from).slice(-limit);
    return all.filter((item) => !start || item > from).slice(0, limit);
  };
  const page = (token: string, size: number) => {
    const start = readPageToken(keys, 'walk', token);
    const cut = cutPage(read(start, size + 1), size, start);
    return { ...cut, ...tokensOf(keys, 'walk', cut, start, (item) => [item]) };
  };

  test.each([1, 2, 5, 22, 23, 24])(
    'in pages of %i returns each item once, forwards and backwards, with the right page numbers',
    (size) => {
      const forwards = [page('', size)];
      while (forwards.at(-1)?.nextPageToken) forwards.push(page(forwards.at(-1)?.nextPageToken ?? '', size));
      expect(forwards.flatMap(({ items }) => items)).toEqual(all);
      expect(forwards.map((one) => one.page)).toEqual(forwards.map((_, i) => i + 1));
      expect(forwards[0]?.previousPageToken).toBe('');

      const back = [forwards.at(-1) as (typeof forwards)[number]];
      while (back[0]?.previousPageToken) back.unshift(page(back[0].previousPageToken, size));
      expect(back.map(({ items }) => items)).toEqual(forwards.map(({ items }) => items));
      expect(back.map((one) => one.page)).toEqual(forwards.map((one) => one.page));
    },
  );
});
