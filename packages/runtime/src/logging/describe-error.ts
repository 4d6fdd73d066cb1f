/** Loggable form of an error. */
export interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  /** Code of the system, PostgreSQL or the error table. */
  readonly code?: string | number;
  readonly cause?: DescribedError;
}

const deepest = 5;

/**
 * Describes an error and its causes. Copies only the listed fields, because libraries attach whole clients, with
 * settings and statements, to their errors.
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
