import { RmsError } from '@rms/base/errors';
import type { Keys } from '@rms/base/secrets';
import { cutPage, type Pool, readPageToken, tokensOf } from '@rms/postgres/db';
import type { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import { readPage } from '../resource/list-queries.ts';
import { bindingOf, checkNamePrefix, type Listing, parseSort, sortKeysOf } from '../resource/listing.ts';
import { fromStatusMessage, tenantOf, toResourceMessage } from '../resource/resource-message.ts';

const pageSizeLimit = 100;

/** Returns one page, with tokens for the next and the previous page (specification, "List resources"). */
export function listResources(parts: {
  pool: Pool;
  pageTokenKeys: Keys;
}): Handlers<typeof ResourcesService>['listResources'] {
  const { pool, pageTokenKeys } = parts;
  return async ({ context, status, pageSize, pageToken, orderBy, namePrefix: prefix }) => {
    if (pageSize < 1 || pageSize > pageSizeLimit) {
      throw new RmsError('invalid_request', {
        details: [{ field: 'per_page', message: `must be 1 to ${pageSizeLimit}` }],
      });
    }
    const sort = parseSort(orderBy);
    const namePrefix = checkNamePrefix(prefix, sort);
    const listing: Listing = { ...tenantOf(context), status: fromStatusMessage(status), sort, namePrefix };
    const binding = bindingOf(listing);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const { resources, size, total } = await readPage(pool, listing, start, pageSize);
    const cut = cutPage(resources, size, start);
    return {
      resources: cut.items.map(toResourceMessage),
      ...tokensOf(pageTokenKeys, binding, cut, start, (resource) => sortKeysOf(listing.sort, resource)),
      totalSize: BigInt(total),
      page: cut.page,
      pageSize,
    };
  };
}
