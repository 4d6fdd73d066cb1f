const largestPage = 1_000;

/** One page of a list call, and the token of the next; '' after the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string;
}

/** Up to `limit` items of a list call, page after page; `more`: there are others beyond the limit. */
export async function takePages<T>(
  limit: number,
  readPage: (page: { pageSize: number; pageToken: string }) => Promise<Page<T>>,
): Promise<{ found: T[]; more: boolean }> {
  const found: T[] = [];
  let pageToken = '';
  do {
    const page = await readPage({ pageSize: Math.min(largestPage, limit - found.length), pageToken });
    found.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && found.length < limit);
  return { found, more: pageToken !== '' };
}
