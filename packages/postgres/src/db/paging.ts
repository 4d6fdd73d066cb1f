import { RmsError } from '@rms/base/errors';
import { type Keys, openToken, signToken } from '@rms/base/secrets';

/** Start of a page: after the last or before the first item of the previous page. */
export interface PageStart {
  readonly direction: 'after' | 'before';
  /** Sort keys of that item; the last key is its ID. */
  readonly keys: readonly string[];
  /** Number of the page that starts here; counts from 1. */
  readonly page: number;
}

/** Creates an opaque token (AIP-158) that cannot be forged and is valid only for the listing described by `binding`. */
export function makePageToken(tokenKeys: Keys, binding: string, { direction, keys, page }: PageStart): string {
  return signToken(tokenKeys, JSON.stringify([direction === 'after' ? 1 : 0, page, ...keys]), binding);
}

/**
 * Reads a token. Returns undefined (the first page) for an empty token. Throws `invalid_request` if it is malformed,
 * forged or from another listing.
 */
export function readPageToken(tokenKeys: Keys, binding: string, token: string): PageStart | undefined {
  if (token === '') return undefined;
  const payload = openToken(tokenKeys, token, binding);
  if (payload === undefined) {
    const message = 'is not a cursor of this list; use links.next or links.prev with the same parameters';
    throw new RmsError('invalid_request', { details: [{ field: 'cursor', message }] });
  }
  const [after, page, ...keys] = JSON.parse(payload) as [number, number, ...string[]];
  return { direction: after ? 'after' : 'before', keys, page };
}

/** Rows that were read for a page; see {@link cutPage}. */
export interface PageRows<T> {
  readonly rows: readonly T[];
  readonly scanEnd: readonly string[] | undefined;
}

/** Reads for a page that is not full. Bounds its cost, because each read is bounded. */
export const readsPerPage = 10;

/**
 * Fills a page of a filtered list: repeats a bounded read from where the previous one stopped, until `limit` rows match,
 * the list ends, or {@link readsPerPage} reads are done.
 * @param read reads up to `limit` rows from `start`, in the list's order
 */
export async function readFullPage<T>(
  start: PageStart | undefined,
  limit: number,
  read: (start: PageStart | undefined, limit: number) => Promise<PageRows<T>>,
): Promise<PageRows<T>> {
  const { direction = 'after', page = 1 } = start ?? {};
  let filled: PageRows<T> = { rows: [], scanEnd: undefined };
  for (let reads = 0; reads < readsPerPage; reads += 1) {
    const from = filled.scanEnd ? { direction, keys: filled.scanEnd, page } : start;
    const { rows, scanEnd } = await read(from, limit - filled.rows.length);
    filled = { rows: direction === 'before' ? [...rows, ...filled.rows] : [...filled.rows, ...rows], scanEnd };
    if (scanEnd === undefined || filled.rows.length >= limit) break;
  }
  return filled;
}

/**
 * Cuts a page out of the rows that were read. `rows` are in the list's order and contain one row more than the
 * page if more rows exist in the walk's direction.
 * @param scanEnd sort keys of the last row that was read, if a filtered list stopped reading before it had enough rows.
 *   The walk continues there.
 */
export function cutPage<T>(
  rows: readonly T[],
  size: number,
  start: PageStart | undefined,
  scanEnd?: readonly string[] | undefined,
) {
  const backwards = start?.direction === 'before';
  const full = rows.length > size;
  const more = full || scanEnd !== undefined;
  const items = full ? (backwards ? rows.slice(1) : rows.slice(0, size)) : rows;
  return {
    items,
    /** Sort keys that the walk continues from; undefined: from the items' edge. */
    scanEnd: full ? undefined : scanEnd,
    isBackwards: backwards,
    // A walk backwards without more rows has reached the list's beginning, regardless of deletions in the
    // meantime.
    page: backwards && !more ? 1 : (start?.page ?? 1),
    hasNext: backwards || more,
    hasPrevious: backwards ? more : start !== undefined,
  };
}

/** Returns tokens for the next and the previous page; empty if there is no such page. */
export function tokensOf<T>(
  tokenKeys: Keys,
  binding: string,
  { items, page, hasNext, hasPrevious, scanEnd, isBackwards }: ReturnType<typeof cutPage<T>>,
  start: PageStart | undefined,
  keysOf: (item: T) => readonly string[],
): { nextPageToken: string; previousPageToken: string } {
  const token = (direction: 'after' | 'before', number: number) => {
    const edge = direction === 'after' ? items.at(-1) : items[0];
    const isWalk = (direction === 'before') === isBackwards;
    // An empty page continues from its own start.
    const keys = (isWalk && scanEnd) || (edge === undefined ? start?.keys : keysOf(edge));
    return keys ? makePageToken(tokenKeys, binding, { direction, keys, page: number }) : '';
  };
  return {
    nextPageToken: hasNext ? token('after', page + 1) : '',
    previousPageToken: hasPrevious ? token('before', Math.max(1, page - 1)) : '',
  };
}

/** Maximum size of a page's items, as JSON: with the rest of the response, a page of a list has at most 1 MiB. */
export const pageBytes = (1024 - 16) * 1024;

/**
 * Returns a page's size: the number of rows up to `limit` and {@link pageBytes}, but at least one. Also returns these rows
 * and the next one in the walk's direction, for `cutPage`.
 * @param rows in the list's order
 */
export function firstWithin<T>(
  rows: readonly T[],
  limit: number,
  start: PageStart | undefined,
  bytesOf: (row: T) => number,
): [rows: readonly T[], size: number] {
  const isBackwards = start?.direction === 'before';
  let bytes = 0;
  let size = 0;
  for (const row of isBackwards ? rows.toReversed() : rows) {
    bytes += bytesOf(row);
    if (size === limit || (size > 0 && bytes > pageBytes)) break;
    size += 1;
  }
  return [isBackwards ? rows.slice(-size - 1) : rows.slice(0, size + 1), size];
}
