import { type ErrorCode, errorKinds } from './error-table.ts';

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
