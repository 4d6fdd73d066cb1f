import { RmsError } from '@rms/errors';
import { type Keys, openToken, signToken } from '@rms/secrets';

/** Where a page starts: after or before one item, the last or first of the page that was seen. */
export interface PageStart {
  readonly direction: 'after' | 'before';
  /** The sort keys of that item, the last of which is its id. */
  readonly keys: readonly string[];
  /** The number of the page that starts here; counts from 1. */
  readonly page: number;
}

/** An opaque token (AIP-158) that can't be forged, and is good only for the listing that `binding` describes. */
export function makePageToken(tokenKeys: Keys, binding: string, { direction, keys, page }: PageStart): string {
  return signToken(tokenKeys, JSON.stringify([direction === 'after' ? 1 : 0, page, ...keys]), binding);
}

/** Undefined for an empty token: the first page. Throws `invalid_request` if it is broken, forged or of another listing. */
export function readPageToken(tokenKeys: Keys, binding: string, token: string): PageStart | undefined {
  if (token === '') return undefined;
  const payload = openToken(tokenKeys, token, binding);
  if (payload === undefined) {
    const message = 'is not a cursor of this list; take it from links.next or links.prev, with the same parameters';
    throw new RmsError('invalid_request', { details: [{ field: 'cursor', message }] });
  }
  const [after, page, ...keys] = JSON.parse(payload) as [number, number, ...string[]];
  return { direction: after ? 'after' : 'before', keys, page };
}

/**
 * Cuts a page out of what was read: rows in the order of the list, one more than the page holds if there are more in the
 * direction of the walk.
 */
export function cutPage<T>(rows: readonly T[], size: number, start: PageStart | undefined) {
  const backwards = start?.direction === 'before';
  const more = rows.length > size;
  const items = more ? (backwards ? rows.slice(1) : rows.slice(0, size)) : rows;
  return {
    items,
    // Backwards without more: this is where the list begins, whatever was deleted on the way.
    page: backwards && !more ? 1 : (start?.page ?? 1),
    hasNext: backwards || more,
    hasPrevious: backwards ? more : start !== undefined,
  };
}

/** The tokens of the next and the previous page; empty where there is none. */
export function tokensOf<T>(
  tokenKeys: Keys,
  binding: string,
  { items, page, hasNext, hasPrevious }: ReturnType<typeof cutPage<T>>,
  start: PageStart | undefined,
  keysOf: (item: T) => readonly string[],
): { nextPageToken: string; previousPageToken: string } {
  const token = (direction: 'after' | 'before', number: number) => {
    const edge = direction === 'after' ? items.at(-1) : items[0];
    // An empty page leads on from where it would have begun.
    const keys = edge === undefined ? start?.keys : keysOf(edge);
    return keys ? makePageToken(tokenKeys, binding, { direction, keys, page: number }) : '';
  };
  return {
    nextPageToken: hasNext ? token('after', page + 1) : '',
    previousPageToken: hasPrevious ? token('before', Math.max(1, page - 1)) : '',
  };
}
