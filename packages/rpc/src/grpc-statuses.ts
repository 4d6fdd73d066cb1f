import { status as grpcStatus } from '@grpc/grpc-js';
import type { ErrorCode } from '@rms/base/errors';

/** gRPC status of each public error code. Several codes share a status, so ErrorInfo carries the code itself. */
export const grpcStatuses: Readonly<Record<ErrorCode, grpcStatus>> = {
  invalid_request: grpcStatus.INVALID_ARGUMENT,
  invalid_api_key: grpcStatus.UNAUTHENTICATED,
  api_key_expired: grpcStatus.UNAUTHENTICATED,
  insufficient_scope: grpcStatus.PERMISSION_DENIED,
  insufficient_role: grpcStatus.PERMISSION_DENIED,
  ip_not_allowed: grpcStatus.PERMISSION_DENIED,
  not_found: grpcStatus.NOT_FOUND,
  method_not_allowed: grpcStatus.UNIMPLEMENTED,
  request_timeout: grpcStatus.DEADLINE_EXCEEDED,
  conflict: grpcStatus.ABORTED,
  precondition_failed: grpcStatus.FAILED_PRECONDITION,
  payload_too_large: grpcStatus.OUT_OF_RANGE,
  uri_too_long: grpcStatus.OUT_OF_RANGE,
  unsupported_media_type: grpcStatus.INVALID_ARGUMENT,
  expectation_failed: grpcStatus.INVALID_ARGUMENT,
  idempotency_key_reused: grpcStatus.FAILED_PRECONDITION,
  rate_limit_exceeded: grpcStatus.RESOURCE_EXHAUSTED,
  quota_exceeded: grpcStatus.RESOURCE_EXHAUSTED,
  headers_too_large: grpcStatus.OUT_OF_RANGE,
  internal_error: grpcStatus.INTERNAL,
  service_unavailable: grpcStatus.UNAVAILABLE,
  timeout: grpcStatus.DEADLINE_EXCEEDED,
};
