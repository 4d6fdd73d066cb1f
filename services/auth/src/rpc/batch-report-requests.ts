import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { requestPartitions } from '../request/request-log.ts';
import { fromRequestMessage } from '../request/request-message.ts';
import { insertRequests } from '../request/request-queries.ts';
import { checkBatchSize, type HandlerParts, translated } from './handler.ts';

const batchLimit = 10_000;

/** Those of a gateway whose clock is wrong by days are left out. */
export function batchReportRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['batchReportRequests'] {
  return ({ requests }) =>
    translated(async () => {
      checkBatchSize(requests, batchLimit);
      const nowMs = Date.now();
      const storable = requests
        .map(fromRequestMessage)
        .filter(({ startedAt }) => requestPartitions.has(startedAt.getTime(), nowMs));
      if (storable.length > 0) await insertRequests(pool, storable);
      return {};
    });
}
