import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { fromReport } from '../request/request-message.ts';
import { insertRequests } from '../request/request-queries.ts';
import { checkBatchSize, type HandlerParts, translated } from './handler.ts';

const batchLimit = 10_000;

/** Those of a gateway whose clock is wrong by days are left out. */
export function batchReportRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['batchReportRequests'] {
  return (report) =>
    translated(async () => {
      const columns = fromReport(report);
      checkBatchSize(columns.requestIds, batchLimit);
      if (columns.requestIds.length > 0) await insertRequests(pool, columns);
      return {};
    });
}
