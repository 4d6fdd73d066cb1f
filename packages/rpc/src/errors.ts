import { create, createRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack, anyUnpack } from '@bufbuild/protobuf/wkt';
import { status as grpcStatus, Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { type ErrorCode, errorKinds, RmsError, toRmsError } from '@rms/base/errors';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  file_google_rpc_error_details,
  RetryInfoSchema,
} from '@rms/proto/google/rpc/error_details_pb';
import { type Status, StatusSchema } from '@rms/proto/google/rpc/status_pb';
import { CallerRefused, CallerUnknown } from './callers.ts';
import { durationFromMs } from './times.ts';

const domain = 'rms';
const detailsKey = 'grpc-status-details-bin';
const detailTypes = createRegistry(file_google_rpc_error_details);

/**
 * Converts an error to google.rpc.Status (AIP-193), always with ErrorInfo, and with BadRequest and RetryInfo if they
 * apply.
 */
export function toStatusMessage(error: unknown): Status {
  const { code, message, details, retryAfterSeconds } = toRmsError(error);
  const packed: Any[] = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: code, domain }))];
  if (details.length > 0) {
    const fieldViolations = details.map(({ field, message: description }) => ({ field, description }));
    packed.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (retryAfterSeconds !== undefined) {
    const retryDelay = durationFromMs(retryAfterSeconds * 1_000);
    packed.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return create(StatusSchema, { code: grpcStatuses[code], message, details: packed });
}

/**
 * Converts a google.rpc.Status to an error. A status without the ErrorInfo of this system is mapped by its gRPC code.
 */
export function fromStatusMessage(status: Status, cause?: unknown): RmsError {
  let code: ErrorCode | undefined;
  let violations: { field: string; message: string }[] = [];
  let retryAfterSeconds: number | undefined;
  for (const any of status.details) {
    const detail = anyUnpack(any, detailTypes);
    if (detail?.$typeName === 'google.rpc.ErrorInfo') {
      const { reason } = detail as ReturnType<typeof create<typeof ErrorInfoSchema>>;
      if (reason in errorKinds) code = reason as ErrorCode;
    } else if (detail?.$typeName === 'google.rpc.BadRequest') {
      const { fieldViolations } = detail as ReturnType<typeof create<typeof BadRequestSchema>>;
      violations = fieldViolations.map(({ field, description }) => ({ field, message: description }));
    } else if (detail?.$typeName === 'google.rpc.RetryInfo') {
      const { retryDelay } = detail as ReturnType<typeof create<typeof RetryInfoSchema>>;
      if (retryDelay) retryAfterSeconds = Number(retryDelay.seconds) + retryDelay.nanos / 1e9;
    }
  }
  // A message without the ErrorInfo of this system comes from the transport and stays internal.
  if (code === undefined) return new RmsError(codeOf(status.code), { cause: cause ?? new Error(status.message) });
  return new RmsError(code, { message: status.message, details: violations, retryAfterSeconds, cause });
}

/** Returns the public code for a bare gRPC status, as raised by transports and deadlines. */
export function codeOf(status: grpcStatus): ErrorCode {
  switch (status) {
    case grpcStatus.UNAVAILABLE:
    case grpcStatus.CANCELLED:
    case grpcStatus.RESOURCE_EXHAUSTED:
      return 'service_unavailable';
    case grpcStatus.DEADLINE_EXCEEDED:
      return 'timeout';
    case grpcStatus.NOT_FOUND:
      return 'not_found';
    case grpcStatus.INVALID_ARGUMENT:
      return 'invalid_request';
    case grpcStatus.ABORTED:
      return 'conflict';
    default:
      return 'internal_error';
  }
}

/** Converts an error to the status that a server sends. */
export function toGrpcStatus(error: unknown): Partial<StatusObject> {
  if (error instanceof CallerUnknown) return { code: grpcStatus.UNAUTHENTICATED, details: error.message };
  if (error instanceof CallerRefused) return { code: grpcStatus.PERMISSION_DENIED, details: error.message };
  const message = toStatusMessage(error);
  const metadata = new Metadata();
  metadata.set(detailsKey, Buffer.from(toBinary(StatusSchema, message)));
  return { code: message.code, details: message.message, metadata };
}

/** Converts an error received by a client to an RmsError. */
export function fromServiceError(error: unknown): RmsError {
  if (error instanceof RmsError) return error;
  const { code, details, metadata } = error as Partial<ServiceError>;
  // Thrown before the request was sent.
  if (code === undefined || !metadata) return new RmsError('internal_error', { cause: error });
  const [bytes] = metadata.get(detailsKey);
  try {
    if (bytes instanceof Buffer) return fromStatusMessage(fromBinary(StatusSchema, bytes), error);
  } catch {
    // Not a google.rpc.Status: use the bare code.
  }
  // The message tells the calling service why it was rejected. Gateways do not expose messages of internal_error.
  const isRefused = code === grpcStatus.PERMISSION_DENIED || code === grpcStatus.UNAUTHENTICATED;
  const message = isRefused && details ? { message: details } : {};
  return new RmsError(codeOf(code), { ...message, cause: error });
}

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
