/** HTTP status, retryability and default message of a public error code. */
export interface ErrorKind {
  readonly httpStatus: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /** Public text, used unless the error has a more precise message. */
  readonly message: string;
}

/**
 * The error table: HTTP status, retryability and public message by public code. packages/rpc maps the codes to gRPC
 * statuses. docs/errors.md describes every code.
 */
export const errorKinds = {
  invalid_request: kind(400, false, 'The request is not valid.'),
  invalid_api_key: kind(401, false, 'The API key is missing, malformed, unknown or revoked.'),
  api_key_expired: kind(401, false, 'The API key was rolled or has expired. Use its successor, or create a new key.'),
  insufficient_scope: kind(403, false, 'The API key lacks the scope for this operation.'),
  insufficient_role: kind(403, false, 'The role in this workspace does not allow this.'),
  ip_not_allowed: kind(403, false, 'The API key may not be used from this address. Change its IP allowlist.'),
  not_found: kind(404, false, 'Not found: the resource or path does not exist.'),
  method_not_allowed: kind(405, false, 'This path does not support the method.'),
  request_timeout: kind(408, true, 'The request did not arrive in time. Send it again.'),
  conflict: kind(409, true, 'The request conflicts with a concurrent request. Send it again.'),
  precondition_failed: kind(
    412,
    false,
    'The object has changed: If-Match does not name its current version. Read it again, and send its new ETag.',
  ),
  payload_too_large: kind(413, false, 'The request body is too large.'),
  uri_too_long: kind(414, false, 'The request URI is too long.'),
  unsupported_media_type: kind(415, false, 'The request body must be application/json.'),
  expectation_failed: kind(417, false, 'The Expect header may contain only 100-continue.'),
  idempotency_key_reused: kind(
    422,
    false,
    'The Idempotency-Key was used with a different request body within the last 24 hours. Use a new key for a new operation.',
  ),
  rate_limit_exceeded: kind(429, true, 'Too many requests.'),
  quota_exceeded: kind(429, true, 'The monthly quota is exhausted.'),
  headers_too_large: kind(431, false, 'The request headers are too large.'),
  internal_error: kind(500, false, 'An internal error occurred. Report the request ID to the operator.'),
  service_unavailable: kind(503, true, 'The service is temporarily unavailable. Try again in a few seconds.'),
  timeout: kind(504, true, 'The service did not respond in time. Try again. A change may have taken effect.'),
} as const satisfies Record<string, ErrorKind>;

/** A public error code, as in `error.code` of a response. */
export type ErrorCode = keyof typeof errorKinds;

function kind(httpStatus: number, retryable: boolean, message: string): ErrorKind {
  return { httpStatus, retryable, message };
}

/** An invalid field: `field` is a path ("metadata.color"), `message` a human-readable text. */
export interface FieldViolation {
  readonly field: string;
  readonly message: string;
}

/** The error type that crosses service boundaries. `message` is public; the internal reason belongs in `cause`. */
export class RmsError extends Error {
  override readonly name = 'RmsError';
  readonly code: ErrorCode;
  readonly details: readonly FieldViolation[];
  /** Delay before a retry, in seconds. If unset, responses with 429 or 503 specify one second. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      details?: readonly FieldViolation[];
      retryAfterSeconds?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(
      options.message ?? errorKinds[code].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.details = options.details ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** See {@link errorKinds}. */
  get kind() {
    return errorKinds[this.code];
  }
}

/**
 * Returns an RmsError unchanged; wraps any other error as the cause of `internal_error`, so that internals never become
 * public.
 */
export function toRmsError(error: unknown): RmsError {
  return error instanceof RmsError ? error : new RmsError('internal_error', { cause: error });
}

/** Returns whether `version` is one of the expected versions. An empty list expects any version. */
export function isExpected(version: number, expected: readonly bigint[]): boolean {
  return expected.length === 0 || expected.includes(BigInt(version));
}

/** Throws `precondition_failed` unless {@link isExpected}. */
export function checkVersion(version: number, expected: readonly bigint[]): void {
  if (!isExpected(version, expected)) throw new RmsError('precondition_failed');
}

/** Returns "Try again in 20 s.", for error messages. From two minutes, the delay is in minutes; from two hours, in hours. */
export function tryAgainIn(seconds: number): string {
  const rounded = Math.max(1, Math.ceil(seconds));
  const [count, unit] =
    rounded < 120
      ? [rounded, 's']
      : rounded < 7_200
        ? [Math.ceil(rounded / 60), 'minutes']
        : [Math.ceil(rounded / 3_600), 'hours'];
  return `Try again in ${count} ${unit}.`;
}
