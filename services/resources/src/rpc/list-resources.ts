import { RmsError } from '@rms/base/errors';
import type { Keys } from '@rms/base/secrets';
import {
  cutPage,
  type PageStart,
  type Pool,
  pageBytes,
  type Queryable,
  readFullPage,
  readPageToken,
  tokensOf,
} from '@rms/postgres/db';
import type { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import {
  bindingOf,
  checkNamePrefix,
  type Listing,
  parseMetadataFilter,
  parseSort,
  type SortField,
  sortKeysOf,
} from '../resource/listing.ts';
import {
  fromStatusMessage,
  type Resource,
  type ResourceRow,
  resourceColumns,
  statuses,
  tenantOf,
  toResource,
  toResourceMessage,
} from '../resource/resource.ts';

const pageSizeLimit = 100;

/** Returns one page, with tokens for the next and the previous page. */
export function listResources(parts: {
  pool: Pool;
  pageTokenKeys: Keys;
}): Handlers<typeof ResourcesService>['listResources'] {
  const { pool, pageTokenKeys } = parts;
  return async ({ context, status, pageSize, pageToken, orderBy, namePrefix: prefix, metadataJson }) => {
    if (pageSize < 1 || pageSize > pageSizeLimit) {
      throw new RmsError('invalid_request', {
        details: [{ field: 'per_page', message: `must be 1 to ${pageSizeLimit}` }],
      });
    }
    const sort = parseSort(orderBy);
    const metadata = parseMetadataFilter(metadataJson, sort);
    const namePrefix = checkNamePrefix(prefix, sort, metadata);
    const listing: Listing = { ...tenantOf(context), status: fromStatusMessage(status), sort, namePrefix, metadata };
    const binding = bindingOf(listing);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    let [size, total, bytes] = [0, 0, pageBytes];
    const { rows, scanEnd } = await readFullPage(start, pageSize + 1, async (from, limit) => {
      const part = await readPage(pool, listing, from, { limit: limit - 1, bytes, isFirst: size === 0 });
      const { resources } = part;
      size += part.size;
      total = part.total;
      for (const one of resources.slice(0, part.size)) bytes -= bytesOf(one);
      return { rows: resources, scanEnd: resources.length > part.size ? undefined : part.scanEnd };
    });
    const cut = cutPage(rows, size, start, scanEnd);
    return {
      resources: cut.items.map(toResourceMessage),
      ...tokensOf(pageTokenKeys, binding, cut, start, (resource) => sortKeysOf(listing.sort, resource)),
      totalSize: BigInt(total),
      page: cut.page,
      pageSize,
    };
  };
}

interface SortColumn {
  readonly name: string;
  /** Type of the sort key in a page token. */
  readonly type: string;
  /** Returns the indexed expression of an attribute or a sort key; absent: the value itself. */
  readonly expressionOf?: (value: string) => string;
}

const id: SortColumn = { name: 'id', type: 'text' };
const nameKey: SortColumn = {
  name: 'name',
  type: 'text',
  expressionOf: (name) => `resources.name_key(${name})`,
};

/** The sort columns of each sort field. The ID contains the creation time. */
const sortColumns: Readonly<Record<SortField, readonly SortColumn[]>> = {
  created_at: [id],
  updated_at: [{ name: 'updated_at', type: 'timestamptz' }, id],
  name: [nameKey, id],
};

/** Upper bound for the size of the other parts of a resource's JSON: the ID, the status and times. */
const otherBytes = 300;

/** Returns the size of a resource as JSON, at most. The metadata can have 160 KB. */
function bytesOf({ metadataJson, name }: Resource): number {
  return Buffer.byteLength(metadataJson) + Buffer.byteLength(JSON.stringify(name)) + otherBytes;
}

/** Resources with the first pair that a read of a list by metadata visits. Bounds its cost if few match. */
const maxCandidates = 2_000;

/** A page of resources, in the list's order. */
interface ResourcePage {
  /** Contains one resource more than the page if there are more in the walk's direction. */
  readonly resources: Resource[];
  /** Number of resources of the page. */
  readonly size: number;
  readonly total: number;
  /** Sort key of the last candidate that a list by metadata read, if it stopped there. */
  readonly scanEnd: readonly string[] | undefined;
}

/**
 * Reads up to `limit` resources after `start` (before it, in reverse order), within `bytes`, and the exact total under the filter, from one snapshot. Scans a single index range. Without a status filter, sorts other than
 * `created_at` scan one range per status and merge them. A list by metadata scans the resources with the first pair.
 */
export async function readPage(
  db: Queryable,
  listing: Listing,
  start: PageStart | undefined,
  { limit, bytes, isFirst }: { readonly limit: number; readonly bytes: number; readonly isFirst: boolean },
): Promise<ResourcePage> {
  const { status, sort, namePrefix, metadata } = listing;
  const isCounted = namePrefix === '' && metadata.length === 0;
  const backwards = start?.direction === 'before';
  const descending = sort.descending !== backwards;
  const variant = [sort.field, descending, start !== undefined, status !== undefined, namePrefix !== ''];
  const { rows } = await db.query<
    ResourceRow & { total: string; id: string | null; fits: boolean; scan_end: string | null }
  >({
    name: ['resources-page', ...variant, metadata.length].join('-'),
    ...pageQuery(listing, start, descending, [limit + 1, bytes, isFirst]),
  });
  const found = rows.filter(({ id }) => id !== null);
  const size = Math.min(limit, found.filter(({ fits }) => fits).length);
  const resources = found.slice(0, size + 1).map(toResource);
  const total = isCounted ? Number(rows[0]?.total ?? 0) : 0;
  const scanEnd = rows[0]?.scan_end ? [rows[0].scan_end] : undefined;
  return { resources: backwards ? resources.reverse() : resources, size, total, scanEnd };
}

function pageQuery(listing: Listing, start: PageStart | undefined, descending: boolean, bounds: readonly unknown[]) {
  const { workspaceId, environment, status, sort, namePrefix, metadata } = listing;
  const values: unknown[] = [workspaceId, environment, ...bounds];
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const columns = sortColumns[sort.field];
  const keyOf = ({ expressionOf }: SortColumn, value: string) => expressionOf?.(value) ?? value;
  const inOrder = (keys: readonly string[]) => keys.map((key) => `${key} ${descending ? 'desc' : 'asc'}`).join(', ');
  const isByMetadata = metadata.length > 0;
  const keys = isByMetadata ? ['candidate.resource_id'] : columns.map((column) => keyOf(column, `r.${column.name}`));
  // The ranges compute the keys of their rows once, as columns.
  const order = inOrder(columns.map((_, i) => `r.sort_key_${i}`));
  const filter = status === undefined ? undefined : parameter(status, 'text');
  let from = '';
  if (start) {
    const startKeys = columns.map((column, i) => keyOf(column, parameter(start.keys[i], column.type)));
    from = `and (${keys.join(', ')}) ${descending ? '<' : '>'} (${startKeys.join(', ')})`;
  }
  if (namePrefix !== '') {
    const prefix = `resources.folded_name(${parameter(namePrefix, 'text')})`;
    const key = keyOf(nameKey, 'r.name');
    // No key contains the highest code point.
    from += ` and ${key} >= ${prefix} and ${key} < ${prefix} || chr(${0x10ffff})`;
  }
  const pairs = metadata.map(([key, value]) => ({ key: parameter(key, 'text'), value: parameter(value, 'text') }));
  const [first] = pairs;
  const candidates = first && candidatesOf(first, { start: start && parameter(start.keys[0], 'text'), descending });
  for (const [i, { key, value }] of pairs.entries()) {
    // The limit keeps the planner from joining instead of looking up each candidate.
    if (i > 0) from += ` and exists (select from ${withPair({ key, value })} and p.resource_id = r.id limit 1)`;
    from += ` and r.metadata ->> ${key} = ${value}`;
  }
  // The one-row limit keeps the candidates' order, so that the page ends the scan.
  const source = candidates
    ? `(${candidates} limit ${maxCandidates}) as candidate cross join lateral (
         select * from resources.resources as r
          where r.workspace_id = $1 and r.environment = $2 and r.id = candidate.resource_id limit 1
       ) as r`
    : 'resources.resources as r';
  const range = (inStatus: string | undefined) => `
    select r.*, ${keys.map((key, i) => `${key} as sort_key_${i}`).join(', ')}
      from ${source}
     where r.workspace_id = $1 and r.environment = $2 ${inStatus ? `and r.status = ${inStatus}` : ''} ${from}
     order by ${inOrder(keys)} limit $3`;
  const ranges =
    filter !== undefined || sort.field === 'created_at'
      ? range(filter)
      : statuses.map((one) => `(${range(`'${one}'`)})`).join(' union all ');
  const text = `
    with total as (
      select coalesce(sum(count), 0) as total,
             ${candidates ? `(${candidates} offset ${maxCandidates - 1} limit 1)` : 'null'} as scan_end
        from resources.resource_counts
       where workspace_id = $1 and environment = $2 ${filter ? `and status = ${filter}` : ''}
    ), page as (
      select r.* from (${ranges}) as r order by ${order} limit $3
    ), sized as (
      select r.*, row_number() over (order by ${order}) = 1 and $5::boolean
                  or sum(octet_length(metadata::text) + octet_length(to_json(name)::text) + ${otherBytes}) over (order by ${order})
                     <= $4::integer as fits
        from page as r
    )
    -- Of the resources beyond the page, only the first is needed.
    select total.total, total.scan_end, fits, ${resourceColumns(`case when fits then r.metadata else '{}' end`)}
      from total left join sized as r on true order by ${order}`;
  return { text, values };
}

/** A pair of metadata, as parameters of a statement. */
interface PairParameters {
  readonly key: string;
  readonly value: string;
}

function withPair({ key, value }: PairParameters): string {
  return (
    'resources.metadata_pairs as p where p.workspace_id = $1 and p.environment = $2 ' +
    `and p.pair = resources.metadata_pair(${key}, ${value})`
  );
}

/** Returns the query for the IDs of resources with a pair after `start`, in the list's order. */
function candidatesOf(
  pair: PairParameters,
  { start, descending }: { readonly start: string | undefined; readonly descending: boolean },
): string {
  const after = start ? `and p.resource_id ${descending ? '<' : '>'} ${start}` : '';
  const order = `order by p.resource_id ${descending ? 'desc' : 'asc'}`;
  return `select p.resource_id from ${withPair(pair)} ${after} ${order}`;
}
