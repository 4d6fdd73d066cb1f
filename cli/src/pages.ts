const defaultPageSize = 1_000;

/** Items of several pages. */
export interface Pages<T> {
  readonly found: T[];
  /** Whether there are others beyond the limit. */
  readonly more: boolean;
}

/** Page of a list call. `nextPageToken` is '' on the last page. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string;
}

/**
 * Returns up to `limit` items of a list call with pages of at most `maxPageSize`. `more` is true if there are others
 * beyond the limit.
 */
export async function takePages<T>(
  limit: number,
  readPage: (page: { pageSize: number; pageToken: string }) => Promise<Page<T>>,
  maxPageSize = defaultPageSize,
): Promise<Pages<T>> {
  const found: T[] = [];
  let pageToken = '';
  do {
    const page = await readPage({ pageSize: Math.min(maxPageSize, limit - found.length), pageToken });
    found.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && found.length < limit);
  return { found, more: pageToken !== '' };
}
