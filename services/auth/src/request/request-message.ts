import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { fromEnvironmentMessage, toEnvironmentMessage, toTenant } from '@rms/base/tenant';
import {
  type BatchReportRequestsRequest,
  type Request,
  RequestColumnsSchema,
} from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { LoggedRequest } from './request-log.ts';
import type { RequestColumns, RequestsLeftOut } from './request-queries.ts';

/** Converts a gateway's report. Throws `invalid_request` unless all columns have the same length. */
export function fromReport({ columns, requests }: BatchReportRequestsRequest): RequestColumns {
  const { $typeName, $unknown, environments, actors, paths, clientAddresses, ...rest } = columns ?? toColumns(requests);
  const orEmpty = (column: readonly string[]) => (column.length > 0 ? column : environments.map(() => ''));
  const others = {
    ...rest,
    actors: orEmpty(actors),
    paths: orEmpty(paths),
    clientAddresses: orEmpty(clientAddresses),
  };
  const lengths = new Set([...Object.values(others), environments].map(({ length }) => length));
  if (lengths.size > 1) throw new RmsError('invalid_request', { message: 'All columns must have the same length.' });
  return { ...others, environments: environments.map(fromEnvironmentMessage) };
}

/** Converts the requests that a gateway did not record. */
export function fromLeftOut({ leftOut }: BatchReportRequestsRequest): RequestsLeftOut[] {
  return leftOut.map((one) => ({ ...toTenant(one), requests: Number(one.requests) }));
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
    actors: each(({ actor }) => actor),
    paths: each(({ path }) => path),
    clientAddresses: each(({ clientAddress }) => clientAddress),
    replayed: each(({ replayed }) => replayed),
    authenticatedMs: each(({ authenticatedMs }) => authenticatedMs ?? -1),
    limitedMs: each(({ limitedMs }) => limitedMs ?? -1),
    handledMs: each(({ handledMs }) => handledMs ?? -1),
    durationsMs: each(({ durationMs }) => durationMs),
  });
}

/** Converts a request to rms.auth.v1.Request. */
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
