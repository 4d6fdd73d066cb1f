import { timestampDate } from '@bufbuild/protobuf/wkt';
import { toScope } from '@rms/base/tenant';
import { cutPage, inTransaction, readFullPage, readPageToken, tokensOf } from '@rms/postgres/db';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { toRequestMessage } from '../request/request-message.ts';
import { countLeftOut, type RequestFilter, searchRequests as search } from '../request/request-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxPageSize = 100;

export function searchRequests({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof RequestsService>['searchRequests'] {
  return async (request) => {
    const { pageSize, minStatus, maxStatus, since, until } = request;
    if (pageSize < 1 || pageSize > maxPageSize) throw invalid('page_size', `must be 1 to ${maxPageSize}`);
    const scope = toScope(request);
    const filter: RequestFilter = {
      method: request.method || undefined,
      route: request.route || undefined,
      statuses: minStatus === 0 && maxStatus === 0 ? undefined : [minStatus, maxStatus],
      errorCode: request.errorCode || undefined,
      keyId: request.keyId || undefined,
      actor: request.actor || undefined,
      clientAddress: request.clientAddress || undefined,
      since: since && timestampDate(since),
      until: until && timestampDate(until),
    };
    const binding = JSON.stringify(['requests', scope, filter]);
    const start = readPageToken(pageTokenKeys, binding, request.pageToken);
    // One snapshot, so that requests reported between the queries do not shift the last row that was read.
    return inTransaction(pool, async (tx) => {
      await tx.query('set transaction isolation level repeatable read, read only');
      const { rows, scanEnd } = await readFullPage(start, pageSize + 1, (from, limit) =>
        search(tx, { ...scope, filter, start: from, limit }),
      );
      const cut = cutPage(rows, pageSize, start, scanEnd);
      return {
        requests: cut.items.map(({ startedUs: _, ...one }) => toRequestMessage(one)),
        ...tokensOf(pageTokenKeys, binding, cut, start, ({ startedUs, requestId }) => [startedUs, requestId]),
        page: cut.page,
        pageSize,
        leftOut: BigInt(await countLeftOut(tx, scope, filter)),
      };
    });
  };
}
