import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { fromEnvironmentMessage, toEnvironmentMessage } from '../key/key-message.ts';
import type { LoggedRequest } from './request-log.ts';
import type { FoundRequest } from './request-queries.ts';

const longestText = 256;

/** A request as a gateway reports it. Throws `invalid_request` for one without a time. */
export function fromRequestMessage(message: Request): LoggedRequest {
  if (!message.startTime) throw new RmsError('invalid_request', { message: 'A request has no time.' });
  const text = (given: string) => given.slice(0, longestText);
  return {
    workspaceId: text(message.workspaceId),
    environment: fromEnvironmentMessage(message.environment),
    requestId: text(message.requestId),
    startedAt: timestampDate(message.startTime),
    traceId: text(message.traceId),
    method: text(message.method),
    route: text(message.route),
    status: message.status,
    errorCode: text(message.errorCode),
    keyId: text(message.keyId),
    replayed: message.replayed,
    authenticatedMs: message.authenticatedMs,
    limitedMs: message.limitedMs,
    handledMs: message.handledMs,
    durationMs: message.durationMs,
  };
}

/** A request as rms.auth.v1.Request. */
export function toRequestMessage(request: FoundRequest) {
  const { environment, startedAt, authenticatedMs, limitedMs, handledMs, ...rest } = request;
  return {
    ...rest,
    environment: toEnvironmentMessage(environment),
    startTime: timestampFromDate(startedAt),
    ...(authenticatedMs === null || authenticatedMs === undefined ? {} : { authenticatedMs }),
    ...(limitedMs === null || limitedMs === undefined ? {} : { limitedMs }),
    ...(handledMs === null || handledMs === undefined ? {} : { handledMs }),
  };
}
