interface Page {
  readonly nextPageToken: string;
  readonly previousPageToken: string;
  readonly totalSize: bigint;
  readonly page: number;
  readonly pageSize: number;
}

/**
 * The list envelope around rendered items. Links repeat what the request asked, with another cursor.
 * @param url the list's address, without a query
 */
export function renderList(
  items: readonly string[],
  page: Page,
  url: string,
  asked: Readonly<Record<string, string | number | undefined>>,
): string {
  const link = (cursor: string) => {
    if (cursor === '') return null;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked)) if (value !== undefined) query.set(name, String(value));
    query.set('cursor', cursor);
    return `${url}?${query}`;
  };
  const meta = JSON.stringify({ total: Number(page.totalSize), page: page.page, per_page: page.pageSize });
  const links = JSON.stringify({ next: link(page.nextPageToken), prev: link(page.previousPageToken) });
  return `{"data":[${items.join(',')}],"meta":${meta},"links":${links}}`;
}
