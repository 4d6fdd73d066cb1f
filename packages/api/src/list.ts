import type { Response } from '@rms/net/http';
import { z } from 'zod';

const defaultPageSize = 20;
const maxCursorLength = 4_096;

/** Query parameters of every list. */
export const pageQuery = {
  per_page: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .optional()
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: 100, default: defaultPageSize });
      },
    })
    .describe('Items per page. A page with at least one item is shorter if it would exceed 1 MiB.'),
  cursor: z
    .string()
    .regex(/^[\w-]+$/, 'is not a cursor of this list')
    .max(maxCursorLength)
    .optional()
    .describe('Opaque value from `links.next` or `links.prev` of an earlier response.'),
};

/** Query parameter that is true or false. */
export const flag = z
  .enum(['true', 'false'])
  .optional()
  .meta({
    override: ({ jsonSchema }) => {
      delete jsonSchema.enum;
      jsonSchema.type = 'boolean';
    },
  });

/** Query parameters of a list that pages also need as a whole. Only for lists that a limit bounds. */
export const pageQueryOfUsers = z.strictObject({
  ...pageQuery,
  all: flag.describe('true: returns all items in one page.'),
});

export interface PageQuery {
  readonly per_page?: string | undefined;
  /** 'true': one page with all items. */
  readonly all?: string | undefined;
  readonly cursor?: string | undefined;
}

/** Returns the number of items in a page. 0: all. */
export function pageSizeOf({ per_page, all }: PageQuery): number {
  if (all === 'true') return 0;
  return per_page === undefined ? defaultPageSize : Number(per_page);
}

/** The paging fields of a service's list response. */
interface PageMessage {
  readonly nextPageToken: string;
  readonly previousPageToken: string;
  /** undefined: counting the items would need a scan. */
  readonly totalSize?: bigint | undefined;
  readonly page: number;
  /** 0: the page has all items. */
  readonly pageSize: number;
}

/**
 * Returns the list envelope (docs/api-guide.md, "Lists"). Links keep the other query parameters.
 * @param moreMeta fields added to `meta`
 */
export function listResponse(
  items: readonly string[],
  message: PageMessage,
  url: string,
  query: object,
  moreMeta: object = {},
): Response {
  const link = (cursor: string) => (cursor === '' ? null : pageUrl(url, { ...query, cursor }));
  const { totalSize, page, pageSize, nextPageToken, previousPageToken } = message;
  const meta = {
    total: totalSize === undefined ? null : Number(totalSize),
    page,
    per_page: pageSize || items.length,
    ...moreMeta,
  };
  const links = { next: link(nextPageToken), prev: link(previousPageToken) };
  return { status: 200, json: `${listStart}${items.join(',')}${listEnd(meta, links)}` };
}

/** Returns a page's URL. An object becomes one parameter per member: `metadata[team]=blue`. */
export function pageUrl(url: string, query: object): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'object' && !Array.isArray(value)) {
      for (const [key, one] of Object.entries(value)) pairs.append(`${name}[${key}]`, String(one));
    } else {
      for (const one of value === undefined ? [] : [value].flat()) pairs.append(name, one);
    }
  }
  return `${url}?${pairs}`;
}

/** Start of the envelope. Comma-separated items follow. */
export const listStart = '{"data":[';

/** Returns the envelope's end, after the items. */
export function listEnd(meta: object, links: { next: string | null; prev: string | null }): string {
  return `],"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`;
}

/** Schema of `meta.total` for lists with items that cannot be counted without a scan; see `listOf`. */
export const noTotal = {
  total: z.int().min(0).nullable().describe('Always null: an exact number would require a scan.'),
};

/** Returns the schema for the envelope around items, with additional or replaced `meta` fields. */
export function listOf(item: z.ZodType, moreMeta: z.ZodRawShape = {}) {
  const link = (which: string) =>
    z
      .string()
      .nullable()
      .meta({ format: 'uri', description: `URL of the ${which} page; null if there is none.` });
  return z.strictObject({
    data: z.array(item),
    meta: z.strictObject({
      total: z.int().min(0).describe('Exact number of items that match the filter.'),
      page: z.int().min(1),
      per_page: z.int().min(1).max(100),
      ...moreMeta,
    }),
    links: z.strictObject({ next: link('next'), prev: link('previous') }),
  });
}
