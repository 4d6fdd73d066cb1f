import type { ErrorCode } from './generated/types.ts';

/** Superclass of the errors of this package. */
export class RmsError extends Error {
  override readonly name: string = 'RmsError';
}

/** No complete response arrived: the connection failed, or the time limit of the attempt passed. `cause` says why. */
export class ConnectionError extends RmsError {
  override readonly name = 'ConnectionError';
}

/** A request field that violates a rule. */
export interface Violation {
  /** Path of the field, for example `metadata.team`. */
  readonly field: string;
  readonly message: string;
}

/** Contents of an error response. */
export interface ApiErrorFields {
  /** HTTP status. */
  readonly status: number;
  /** Decide by the code, not by the message. Undefined if the response is not of the API but, for example, of a proxy. */
  readonly code: ErrorCode | undefined;
  /** Invalid fields of a request with the code `invalid_request`; otherwise empty. */
  readonly violations: readonly Violation[];
  /** X-Request-ID of the last attempt. Empty if the response has none. */
  readonly requestId: string;
  /** Seconds to wait before a retry; undefined if the response has no Retry-After. */
  readonly retryAfter: number | undefined;
  /** Description of the code, if the operator publishes one. */
  readonly docUrl: string | undefined;
}

/** A response with an error. Its subclasses correspond to the statuses that programs handle. */
export class ApiError extends RmsError implements ApiErrorFields {
  override readonly name: string = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode | undefined;
  readonly violations: readonly Violation[];
  readonly requestId: string;
  readonly retryAfter: number | undefined;
  readonly docUrl: string | undefined;

  constructor(message: string, fields: ApiErrorFields) {
    super(message);
    this.status = fields.status;
    this.code = fields.code;
    this.violations = fields.violations;
    this.requestId = fields.requestId;
    this.retryAfter = fields.retryAfter;
    this.docUrl = fields.docUrl;
  }
}

/** Status 400. `violations` has every invalid field. */
export class InvalidRequestError extends ApiError {
  override readonly name = 'InvalidRequestError';
}

/** Status 401: the API key is missing, unknown, revoked or expired. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** Status 403: the API key lacks a scope, or may not be used from this address. */
export class PermissionError extends ApiError {
  override readonly name = 'PermissionError';
}

/** Status 404. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** Status 409: the object's state does not permit the operation, or another request changes it. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** Status 412: the object has changed since the ETag in `ifMatch`. */
export class PreconditionFailedError extends ApiError {
  override readonly name = 'PreconditionFailedError';
}

/** Status 429: a rate limit or the monthly quota. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** Status 5xx. A write may have taken effect. */
export class ServiceError extends ApiError {
  override readonly name = 'ServiceError';
}

/** A request is not an event that the service signed within the tolerance. Respond to it with status 401. */
export class WebhookVerificationError extends RmsError {
  override readonly name = 'WebhookVerificationError';
}

const classes: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionFailedError,
  429: RateLimitError,
};

/** A body with an error. Any other response may have any JSON. */
interface ErrorBody {
  readonly error?: {
    readonly code?: ErrorCode;
    readonly message?: string;
    readonly details?: readonly Violation[];
    readonly doc_url?: string;
  };
}

/** Returns a response's error. `document` is its JSON; undefined if it is not JSON. */
export function apiErrorOf(status: number, headers: Headers, document: unknown): ApiError {
  const { error } = (document ?? {}) as ErrorBody;
  const requestId = headers.get('x-request-id') ?? '';
  const isOfApi = typeof error?.code === 'string' && typeof error.message === 'string';
  const about = [status, isOfApi ? error.code : 'not a response of the API'].join(' ');
  const message = isOfApi ? error.message : 'The response is not of the API. Check `url`.';
  const Class = classes[status] ?? (status >= 500 ? ServiceError : ApiError);
  return new Class(`${message} (${requestId ? `${about}, request ${requestId}` : about})`, {
    status,
    code: isOfApi ? error.code : undefined,
    violations: isOfApi && Array.isArray(error.details) ? error.details : [],
    requestId,
    retryAfter: retryAfterOf(headers),
    docUrl: isOfApi ? error.doc_url : undefined,
  });
}

/** Returns the seconds of a Retry-After, which has a number of seconds or a date. */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
