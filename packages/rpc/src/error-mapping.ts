import { create, createRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack, anyUnpack } from '@bufbuild/protobuf/wkt';
import { status as grpcStatus, Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { type ErrorCode, errorKinds, RmsError, toRmsError } from '@rms/errors';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  file_google_rpc_error_details,
  RetryInfoSchema,
} from '@rms/proto/google/rpc/error_details_pb';
import { type Status, StatusSchema } from '@rms/proto/google/rpc/status_pb';
import { CallerRefused } from './callers.ts';

const domain = 'rms';
const detailsKey = 'grpc-status-details-bin';
const detailTypes = createRegistry(file_google_rpc_error_details);

/** An error as google.rpc.Status (AIP-193): ErrorInfo always, BadRequest and RetryInfo where they say something. */
export function toStatusMessage(error: unknown): Status {
  const { code, kind, message, details, retryAfterSeconds } = toRmsError(error);
  const packed: Any[] = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: code, domain }))];
  if (details.length > 0) {
    const fieldViolations = details.map(({ field, message: description }) => ({ field, description }));
    packed.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (retryAfterSeconds !== undefined) {
    const retryDelay = {
      seconds: BigInt(Math.floor(retryAfterSeconds)),
      nanos: Math.round((retryAfterSeconds % 1) * 1e9),
    };
    packed.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return create(StatusSchema, { code: kind.grpcStatus, message, details: packed });
}

/** The error that a google.rpc.Status tells of. One without our ErrorInfo is mapped by its gRPC code. */
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
  // A text that did not come with our ErrorInfo is the transport's and stays inside.
  if (code === undefined) return new RmsError(codeOf(status.code), { cause: cause ?? new Error(status.message) });
  return new RmsError(code, { message: status.message, details: violations, retryAfterSeconds, cause });
}

/** The public code for a bare gRPC status, as transports and deadlines raise it. */
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

/** What a server sends for an error. */
export function toGrpcStatus(error: unknown): Partial<StatusObject> {
  if (error instanceof CallerRefused) return { code: grpcStatus.PERMISSION_DENIED, details: error.message };
  const message = toStatusMessage(error);
  const metadata = new Metadata();
  metadata.set(detailsKey, Buffer.from(toBinary(StatusSchema, message)));
  return { code: message.code, details: message.message, metadata };
}

/** What a client makes of an error. */
export function fromServiceError(error: unknown): RmsError {
  if (error instanceof RmsError) return error;
  const { code, details, metadata } = error as Partial<ServiceError>;
  // Thrown before anything was sent.
  if (code === undefined || !metadata) return new RmsError('internal_error', { cause: error });
  const [bytes] = metadata.get(detailsKey);
  try {
    if (bytes instanceof Buffer) return fromStatusMessage(fromBinary(StatusSchema, bytes), error);
  } catch {
    // Not a google.rpc.Status: the bare code tells enough.
  }
  // A caller that was refused is told why; gateways keep the text of any internal_error to themselves.
  const message = code === grpcStatus.PERMISSION_DENIED && details ? { message: details } : {};
  return new RmsError(codeOf(code), { ...message, cause: error });
}
