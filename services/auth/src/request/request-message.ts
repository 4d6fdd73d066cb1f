import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import type { BatchReportRequestsRequest } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { fromEnvironmentMessage, toEnvironmentMessage } from '../key/key-message.ts';
import type { LoggedRequest } from './request-log.ts';
import type { RequestColumns } from './request-queries.ts';

/** What a gateway reports. Throws `invalid_request` unless there is an entry for each request in each column. */
export function fromReport(report: BatchReportRequestsRequest): RequestColumns {
  const { $typeName, $unknown, environments, ...columns } = report;
  const lengths = new Set([...Object.values(columns), environments].map(({ length }) => length));
  if (lengths.size > 1) throw new RmsError('invalid_request', { message: 'The columns are of different lengths.' });
  return { ...columns, environments: environments.map(fromEnvironmentMessage) };
}

/** A request as rms.auth.v1.Request. */
export function toRequestMessage(request: LoggedRequest) {
  const { environment, startedAt, authenticatedMs, limitedMs, handledMs, ...rest } = request;
  return {
    ...rest,
    environment: toEnvironmentMessage(environment),
    startTime: timestampFromDate(startedAt),
    ...(authenticatedMs === null ? {} : { authenticatedMs }),
    ...(limitedMs === null ? {} : { limitedMs }),
    ...(handledMs === null ? {} : { handledMs }),
  };
}
