/**
 * Converts a time of performance.now() to milliseconds since 1970, by the present clock of the machine.
 * performance.timeOrigin is the process's start by the clock at that time, which may have been set since.
 */
export function wallTimeOf(atMs: number): number {
  return Date.now() - (performance.now() - atMs);
}
