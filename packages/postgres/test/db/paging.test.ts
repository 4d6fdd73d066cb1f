import { RmsError } from '@rms/base/errors';
import { cutPage, makePageToken, type PageStart, readPageToken, tokensOf } from '@rms/postgres/db';
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
