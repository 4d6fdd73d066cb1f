import { status as grpcStatus } from '@grpc/grpc-js';

/** What one public error code means on every hop. */
export interface ErrorKind {
  readonly httpStatus: number;
  readonly grpcStatus: grpcStatus;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** What a caller reads unless the error brings a more precise public text. */
  readonly message: string;
}

/**
 * The one error table: public code → HTTP status → gRPC status → retryable → public message.
 * Codes of the specification, "Errors"; the others are listed in docs/decisions.md.
 */
export const errorKinds = {
  invalid_request: kind(400, grpcStatus.INVALID_ARGUMENT, false, 'The request is not valid.'),
  invalid_api_key: kind(
    401,
    grpcStatus.UNAUTHENTICATED,
    false,
    'The API key is missing, malformed, unknown or revoked.',
  ),
  api_key_expired: kind(401, grpcStatus.UNAUTHENTICATED, false, 'The API key has been rotated or has expired.'),
  insufficient_scope: kind(403, grpcStatus.PERMISSION_DENIED, false, 'The API key lacks the scope for this operation.'),
  insufficient_role: kind(403, grpcStatus.PERMISSION_DENIED, false, 'The role in this workspace does not allow this.'),
  ip_not_allowed: kind(403, grpcStatus.PERMISSION_DENIED, false, 'The API key may not be used from this address.'),
  not_found: kind(404, grpcStatus.NOT_FOUND, false, 'There is nothing at this address.'),
  method_not_allowed: kind(405, grpcStatus.UNIMPLEMENTED, false, 'This address does not support the method.'),
  request_timeout: kind(408, grpcStatus.DEADLINE_EXCEEDED, true, 'The request did not arrive in time.'),
  conflict: kind(409, grpcStatus.ABORTED, true, 'The request conflicts with another one.'),
  payload_too_large: kind(413, grpcStatus.OUT_OF_RANGE, false, 'The request body is too large.'),
  uri_too_long: kind(414, grpcStatus.OUT_OF_RANGE, false, 'The address of the request is too long.'),
  unsupported_media_type: kind(415, grpcStatus.INVALID_ARGUMENT, false, 'The request body must be application/json.'),
  idempotency_key_reused: kind(
    422,
    grpcStatus.FAILED_PRECONDITION,
    false,
    'The Idempotency-Key was used before with another request body.',
  ),
  rate_limit_exceeded: kind(429, grpcStatus.RESOURCE_EXHAUSTED, true, 'Too many requests.'),
  quota_exceeded: kind(429, grpcStatus.RESOURCE_EXHAUSTED, true, 'The monthly quota is used up.'),
  headers_too_large: kind(431, grpcStatus.OUT_OF_RANGE, false, 'The request headers are too large.'),
  internal_error: kind(500, grpcStatus.INTERNAL, false, 'Something went wrong on our side.'),
  service_unavailable: kind(503, grpcStatus.UNAVAILABLE, true, 'The service is not available right now.'),
  timeout: kind(504, grpcStatus.DEADLINE_EXCEEDED, true, 'The service took too long to answer.'),
} as const satisfies Record<string, ErrorKind>;

/** A public error code, as in `error.code` of a response. */
export type ErrorCode = keyof typeof errorKinds;

function kind(httpStatus: number, status: grpcStatus, retryable: boolean, message: string): ErrorKind {
  return { httpStatus, grpcStatus: status, retryable, message };
}
