import type { PageStart, Queryable } from '@rms/db';
import type { Listing, SortField } from './listing.ts';
import { type Resource, statuses } from './resource.ts';
import { type ResourceRow, resourceColumns, toResource } from './resource-queries.ts';

/** The highest code point. `prefix + lastCharacter` sorts after the names that start with `prefix`. */
const lastCharacter = '\u{10FFFF}';

/** The sort columns of each sort field, with their types. The ID contains the creation time. */
const sortColumns: Readonly<Record<SortField, readonly (readonly [column: string, type: string])[]>> = {
  created_at: [['id', 'text']],
  updated_at: [
    ['updated_at', 'timestamptz'],
    ['id', 'text'],
  ],
  name: [
    ['name', 'text'],
    ['id', 'text'],
  ],
};

/**
 * Total size of the metadata of a page. The metadata of a resource can have 100 KB. A page ends with the resource that
 * brings it to this size.
 */
const pageBytes = 2 * 1024 * 1024;

/** A page of resources, in the order of the list. */
export interface ResourcePage {
  /** Contains one resource more than the page if there are more in the direction of the walk. */
  readonly resources: Resource[];
  /** Number of resources of the page. */
  readonly size: number;
  readonly total: number;
}

/**
 * Reads up to `limit` resources after `start` (before it, in reverse order), within {@link pageBytes}, and the exact
 * total under the filter, from one snapshot. Scans a single index range. Without a status filter, sorts other than
 * `created_at` scan one range per status and merge them.
 */
export async function readPage(
  db: Queryable,
  listing: Listing,
  start: PageStart | undefined,
  limit: number,
): Promise<ResourcePage> {
  const { status, sort, namePrefix } = listing;
  const backwards = start?.direction === 'before';
  const descending = sort.descending !== backwards;
  const { rows } = await db.query<ResourceRow & { total: string; id: string | null; fits: boolean }>({
    name: ['resources-page', sort.field, descending, start !== undefined, status !== undefined, namePrefix !== ''].join(
      '-',
    ),
    ...pageQuery(listing, start, descending, limit + 1),
  });
  const found = rows.filter(({ id }) => id !== null);
  const size = Math.min(limit, found.filter(({ fits }) => fits).length);
  const resources = found.slice(0, size + 1).map(toResource);
  const total = namePrefix === '' ? Number(rows[0]?.total ?? 0) : 0;
  return { resources: backwards ? resources.reverse() : resources, size, total };
}

function pageQuery(listing: Listing, start: PageStart | undefined, descending: boolean, limit: number) {
  const { workspaceId, environment, status, sort, namePrefix } = listing;
  const values: unknown[] = [workspaceId, environment, limit];
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const columns = sortColumns[sort.field];
  const order = columns.map(([column]) => `r.${column} ${descending ? 'desc' : 'asc'}`).join(', ');
  const filter = status === undefined ? undefined : parameter(status, 'text');
  let from = '';
  if (start) {
    const key = columns.map(([, type], i) => parameter(start.keys[i], type));
    const names = columns.map(([column]) => `r.${column}`);
    from = `and (${names.join(', ')}) ${descending ? '<' : '>'} (${key.join(', ')})`;
  }
  if (namePrefix !== '') {
    // Names are compared bytewise, so the prefix is a range of the name index.
    from += ` and r.name >= ${parameter(namePrefix, 'text')} and r.name < ${parameter(`${namePrefix}${lastCharacter}`, 'text')}`;
  }
  const range = (inStatus: string | undefined) => `
    select r.* from resources.resources as r
     where r.workspace_id = $1 and r.environment = $2 ${inStatus ? `and r.status = ${inStatus}` : ''} ${from}
     order by ${order} limit $3`;
  const ranges =
    filter !== undefined || sort.field === 'created_at'
      ? range(filter)
      : statuses.map((one) => `(${range(`'${one}'`)})`).join(' union all ');
  const text = `
    with total as (
      select coalesce(sum(count), 0) as total from resources.resource_counts
       where workspace_id = $1 and environment = $2 ${filter ? `and status = ${filter}` : ''}
    ), page as (
      select r.* from (${ranges}) as r order by ${order} limit $3
    ), sized as (
      select r.*, sum(octet_length(metadata::text)) over (order by ${order}) - octet_length(metadata::text) as bytes_before
        from page as r
    )
    -- Of the resources beyond the page, only the first is needed.
    select total.total, bytes_before < ${pageBytes} as fits,
           ${resourceColumns(`case when bytes_before < ${pageBytes} then r.metadata else '{}' end`)}
      from total left join sized as r on true order by ${order}`;
  return { text, values };
}
