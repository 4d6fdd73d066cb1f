import { cutPage, type PageStart, readPageToken, tokensOf } from '@rms/postgres/db';
import { invalid } from './refusals.ts';
import type { HandlerParts } from './rpc/handler.ts';

const maxPageSize = 100;

/** Position and size of a page that a query reads. */
export interface PageRead {
  /** undefined: from the beginning. */
  readonly start: PageStart | undefined;
  /** One more than the page has; null: all. */
  readonly limit: number | null;
}

/**
 * Returns a page of a list that is read whole if the request has no page size.
 * @param binding identifies the list
 * @param read reads the items in the list's order from `start`, backwards in reverse order
 * @param keyOf returns the sort key of an item
 */
export async function readListPage<T>(
  { pageTokenKeys }: Pick<HandlerParts, 'pageTokenKeys'>,
  { pageSize, pageToken }: { readonly pageSize: number; readonly pageToken: string },
  { binding, read, keyOf }: { binding: string; read(page: PageRead): Promise<T[]>; keyOf(item: T): string },
) {
  if (pageSize < 0 || pageSize > maxPageSize) throw invalid('page_size', `must be 0 to ${maxPageSize}`);
  const start = readPageToken(pageTokenKeys, binding, pageToken);
  const items = await read({ start, limit: pageSize === 0 ? null : pageSize + 1 });
  if (start?.direction === 'before') items.reverse();
  const cut = cutPage(items, pageSize === 0 ? items.length : pageSize, start);
  return { items: cut.items, page: cut.page, ...tokensOf(pageTokenKeys, binding, cut, start, (item) => [keyOf(item)]) };
}
