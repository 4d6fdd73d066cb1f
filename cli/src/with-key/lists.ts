import { callApi } from './api.ts';
import type { Profile } from './profiles.ts';

/** The list document of the API. */
export interface ListDocument {
  readonly data: readonly object[];
  readonly meta: object;
  readonly links: { readonly next: string | null; readonly prev: string | null };
}

const pageLimit = 100;

/**
 * Reads a list of at most `limit` items, page after page. Returns the last page's document with the items of all
 * pages, and whether there are more items.
 */
export async function takeList(
  target: Profile,
  path: string,
  limit: number,
): Promise<{ document: ListDocument; more: boolean }> {
  const data: object[] = [];
  let next = withQuery(path, { per_page: `${Math.min(limit, pageLimit)}` });
  for (;;) {
    const page = await callApi<ListDocument>(target, { method: 'get', path: next });
    const { data: read } = page;
    const free = limit - data.length;
    data.push(...read.slice(0, free));
    const { next: link } = page.links;
    const more = link !== null || read.length > free;
    if (link === null || data.length >= limit) return { document: { ...page, data }, more };
    // Only its query is used, because the API may be behind a proxy with another address.
    next = (path.split('?')[0] ?? path) + new URL(link).search;
  }
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query)}`;
}
