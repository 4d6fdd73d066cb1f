import type { Answer } from '@rms/http';
import { z } from 'zod';

const defaultPageSize = 20;
const longestCursor = 4_096;

/** Query parameters that every list takes. */
export const pageQuery = {
  per_page: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .optional()
    .meta({ override: { type: 'integer', minimum: 1, maximum: 100, default: defaultPageSize, pattern: undefined } })
    .describe('Items on a page.'),
  cursor: z
    .string()
    .regex(/^[\w-]+$/, 'is not a cursor of this list')
    .max(longestCursor)
    .optional()
    .describe('Opaque; taken from `links.next` or `links.prev` of an earlier answer.'),
};

export interface PageQuery {
  readonly per_page?: string | undefined;
  readonly cursor?: string | undefined;
}

export function pageSizeOf({ per_page }: PageQuery): number {
  return per_page === undefined ? defaultPageSize : Number(per_page);
}

/** What a service answers with a page. */
interface PageMessage {
  readonly nextPageToken: string;
  readonly previousPageToken: string;
  readonly totalSize: bigint;
  readonly page: number;
  readonly pageSize: number;
}

/** The list envelope (specification, "List envelope"); links keep the other parameters. */
export function listAnswer(items: readonly string[], message: PageMessage, url: string, query: object): Answer {
  const link = (cursor: string) => (cursor === '' ? null : pageUrl(url, { ...query, cursor }));
  const { totalSize, page, pageSize, nextPageToken, previousPageToken } = message;
  const meta = { total: Number(totalSize), page, per_page: pageSize };
  const links = { next: link(nextPageToken), prev: link(previousPageToken) };
  return { status: 200, json: `${listStart}${items.join(',')}${listEnd(meta, links)}` };
}

/** The address of a page. */
export function pageUrl(url: string, query: object): string {
  return `${url}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined))}`;
}

/** What the envelope has before its items, which commas separate. */
export const listStart = '{"data":[';

/** What the envelope has after its items. */
export function listEnd(meta: object, links: { next: string | null; prev: string | null }): string {
  return `],"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`;
}

/** The schema of the envelope around items, with what else its `meta` holds. */
export function listOf(item: z.ZodType, moreMeta: z.ZodRawShape = {}) {
  const link = (which: string) =>
    z
      .string()
      .nullable()
      .meta({ format: 'uri', description: `URL of the ${which} page; null if there is none.` });
  return z.strictObject({
    data: z.array(item),
    meta: z.strictObject({
      total: z.int().min(0).describe('Exact number of items under the filter.'),
      page: z.int().min(1),
      per_page: z.int().min(1).max(100),
      ...moreMeta,
    }),
    links: z.strictObject({ next: link('next'), prev: link('previous') }),
  });
}
