import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { fromLeftOut, fromReport } from '../request/request-message.ts';
import { insertRequests } from '../request/request-queries.ts';
import { checkBatchSize, type HandlerParts } from './handler.ts';

const batchLimit = 10_000;
/**
 * Stored requests per workspace, environment and day (UTC): three times the daily average of the default quota of
 * 10,000,000 requests per month, and about 850 MB.
 */
const maxPerDay = 1_000_000;

/**
 * Stores requests that a gateway reports, or that the dashboard reports for a user. Ignores requests whose start time
 * is off by days because of a wrong clock. Throws `invalid_request` if a request names an actor other than the caller.
 */
export function batchReportRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['batchReportRequests'] {
  return async (report, { actor }) => {
    const columns = fromReport(report);
    checkBatchSize(columns.requestIds, batchLimit);
    if (columns.actors.some((one) => one !== actor)) throw invalid('actors', 'must be the actor of the call');
    const leftOut = fromLeftOut(report);
    checkBatchSize(leftOut, batchLimit);
    if (columns.requestIds.length + leftOut.length > 0) await insertRequests(pool, columns, { leftOut, maxPerDay });
    return {};
  };
}
