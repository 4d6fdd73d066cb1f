import { type Pool, translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import { readPage } from '../resource/list-queries.ts';
import { type Listing, makePageToken, parseSort, readPageToken, sortValueOf } from '../resource/page.ts';
import { fromStatusMessage, tenantOf, toResourceMessage } from '../resource/resource-message.ts';

const pageSizeLimit = 100;

/** One page, with tokens for the next and the previous one (specification, "List resources"). */
export function listResources(parts: {
  pool: Pool;
  pageTokenKey: Buffer;
}): Handlers<typeof ResourcesService>['listResources'] {
  const { pool, pageTokenKey } = parts;
  return async ({ context, status, pageSize, pageToken, orderBy }) => {
    if (pageSize < 1 || pageSize > pageSizeLimit) {
      throw new RmsError('invalid_request', {
        details: [{ field: 'per_page', message: `must be 1 to ${pageSizeLimit}` }],
      });
    }
    const listing: Listing = { ...tenantOf(context), status: fromStatusMessage(status), sort: parseSort(orderBy) };
    const start = pageToken === '' ? undefined : readPageToken(pageTokenKey, listing, pageToken);
    // One more than the page tells whether there is another page in that direction.
    const { resources, total } = await readPage(pool, listing, start, pageSize + 1).catch((error: unknown) => {
      throw translatePgError(error);
    });
    const backwards = start?.direction === 'before';
    const more = resources.length > pageSize;
    const items = more ? (backwards ? resources.slice(1) : resources.slice(0, pageSize)) : resources;
    // Backwards without more: this is where the list begins, whatever was deleted on the way.
    const page = backwards && !more ? 1 : (start?.page ?? 1);
    const hasNext = backwards || more;
    const hasPrevious = backwards ? more : start !== undefined;
    const token = (direction: 'after' | 'before', number: number) => {
      const edge = direction === 'after' ? items.at(-1) : items[0];
      // An empty page leads on from where it would have begun.
      const at = edge ? { value: sortValueOf(listing.sort, edge), id: edge.id } : start;
      return at ? makePageToken(pageTokenKey, listing, { direction, value: at.value, id: at.id, page: number }) : '';
    };
    return {
      resources: items.map(toResourceMessage),
      nextPageToken: hasNext ? token('after', page + 1) : '',
      previousPageToken: hasPrevious ? token('before', Math.max(1, page - 1)) : '',
      totalSize: BigInt(total),
      page,
      pageSize,
    };
  };
}
