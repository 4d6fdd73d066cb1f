import { type ApiRequest, type ApiResponse, requestApi } from './api.ts';
import type { Profile } from './profiles.ts';

/** The list document of the API. */
export interface ListDocument<Item = object> {
  readonly data: readonly Item[];
  readonly meta: object;
  readonly links: { readonly next: string | null; readonly prev: string | null };
}

const pageLimit = 100;

/**
 * Reads a list page after page.
 * @param more headers and signal of the requests
 */
export async function* readPages<Item = object>(
  target: Profile,
  path: string,
  perPage = pageLimit,
  more: Pick<ApiRequest, 'headers' | 'signal'> = {},
): AsyncGenerator<ApiResponse<ListDocument<Item>>, void, undefined> {
  let next: string | undefined = withQuery(path, { per_page: `${perPage}` });
  while (next !== undefined) {
    const page: ApiResponse<ListDocument<Item>> = await requestApi(target, { method: 'get', path: next, ...more });
    yield page;
    const link = page.document.links.next;
    // Only its query is used, because the API may be behind a proxy with another address.
    next = link === null ? undefined : (path.split('?')[0] ?? path) + new URL(link).search;
  }
}

/**
 * Reads a list of at most `limit` items. Returns the last page's document with the items of all pages, and whether
 * there are more items.
 */
export async function takeList(
  target: Profile,
  path: string,
  limit: number,
): Promise<{ document: ListDocument; more: boolean }> {
  let whole: ListDocument = { data: [], meta: {}, links: { next: null, prev: null } };
  for await (const { document } of readPages(target, path, Math.min(limit, pageLimit))) {
    whole = { ...document, data: [...whole.data, ...document.data] };
    if (whole.data.length >= limit) break;
  }
  const more = whole.links.next !== null || whole.data.length > limit;
  return { document: { ...whole, data: whole.data.slice(0, limit) }, more };
}

/** Adds fields to a path's query. They replace fields with the same name. */
export function withQuery(path: string, fields: Readonly<Record<string, string>>): string {
  const [start = '', query] = path.split('?');
  const pairs = new URLSearchParams(query);
  for (const [name, value] of Object.entries(fields)) pairs.set(name, value);
  return `${start}?${pairs}`;
}
