/** Difference between the clocks of two transactions that is not a jump. */
const toleranceMs = 60_000;

/**
 * Returns the SQL condition that a time is later than the longest wait from now. Such a time was written while the clock
 * of the database was ahead, and must not be waited for.
 */
export function isLaterThan(column: string, longestWaitMs: number): string {
  return `${column} > now() + interval '${longestWaitMs + toleranceMs} milliseconds'`;
}
