import { type ErrorCode, errorKinds } from './error-table.ts';

/** One wrong field: `field` as a path ("metadata.color"), `message` for a person. */
export interface FieldViolation {
  readonly field: string;
  readonly message: string;
}

/** The one error that crosses service borders. `message` is public; the internal reason goes into `cause`. */
export class RmsError extends Error {
  override readonly name = 'RmsError';
  readonly code: ErrorCode;
  readonly details: readonly FieldViolation[];
  /** When to try again, in seconds; unset: the code's default. */
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

/** The error itself, or `internal_error` with it as the cause: nothing internal becomes public by accident. */
export function toRmsError(error: unknown): RmsError {
  return error instanceof RmsError ? error : new RmsError('internal_error', { cause: error });
}
