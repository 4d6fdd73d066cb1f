/** What a log says of an error. */
export interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  /** Of the system, PostgreSQL or our error table. */
  readonly code?: string | number;
  readonly cause?: DescribedError;
}

const deepest = 5;

/**
 * An error with its causes. Only what is named here is taken: libraries hang whole clients, with settings and statements,
 * onto their errors.
 */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    type: name,
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(cause === undefined || depth >= deepest ? {} : { cause: describeError(cause, depth + 1) }),
  };
}
