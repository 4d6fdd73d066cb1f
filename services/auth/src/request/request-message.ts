import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import {
  type BatchReportRequestsRequest,
  type Request,
  RequestColumnsSchema,
} from '@rms/proto/rms/auth/v1/requests_service_pb';
import { fromEnvironmentMessage, toEnvironmentMessage } from '../key/key-message.ts';
import type { LoggedRequest } from './request-log.ts';
import type { RequestColumns } from './request-queries.ts';

/** What a gateway reports. Throws `invalid_request` unless there is an entry for each request in each column. */
export function fromReport({ columns, requests }: BatchReportRequestsRequest): RequestColumns {
  const { $typeName, $unknown, environments, ...others } = columns ?? toColumns(requests);
  const lengths = new Set([...Object.values(others), environments].map(({ length }) => length));
  if (lengths.size > 1) throw new RmsError('invalid_request', { message: 'The columns are of different lengths.' });
  return { ...others, environments: environments.map(fromEnvironmentMessage) };
}

function toColumns(requests: readonly Request[]) {
  const each = <T>(of: (request: Request) => T) => requests.map(of);
  return create(RequestColumnsSchema, {
    workspaceIds: each(({ workspaceId }) => workspaceId),
    environments: each(({ environment }) => environment),
    requestIds: each(({ requestId }) => requestId),
    startTimesUs: each(({ startTime }) => (startTime ? Number(startTime.seconds) * 1e6 + startTime.nanos / 1_000 : 0)),
    traceIds: each(({ traceId }) => traceId),
    methods: each(({ method }) => method),
    routes: each(({ route }) => route),
    statuses: each(({ status }) => status),
    errorCodes: each(({ errorCode }) => errorCode),
    keyIds: each(({ keyId }) => keyId),
    replayed: each(({ replayed }) => replayed),
    authenticatedMs: each(({ authenticatedMs }) => authenticatedMs ?? -1),
    limitedMs: each(({ limitedMs }) => limitedMs ?? -1),
    handledMs: each(({ handledMs }) => handledMs ?? -1),
    durationsMs: each(({ durationMs }) => durationMs),
  });
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
