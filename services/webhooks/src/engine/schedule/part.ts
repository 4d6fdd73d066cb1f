/** Determines this instance's part of a limit that all instances share. */
export interface Part {
  /** Position of this instance among the running instances; counts from 0. */
  readonly rank: number;
  /** Number of running instances. */
  readonly count: number;
}

/**
 * Returns this instance's part of a limit. The parts of all instances add up to the limit. Every instance gets at least
 * 1, so that it can attempt the deliveries that its fan-out stores. A limit below the number of instances is therefore
 * exceeded.
 */
export function partOfLimit(limit: number, { rank, count }: Part): number {
  return Math.max(1, Math.floor((limit + count - 1 - rank) / count));
}

/** Returns {@link partOfLimit} as an SQL expression. */
export function partOf(limit: string, rank: string, count: string): string {
  return `greatest(1, (${limit} + ${count}::integer - 1 - ${rank}::integer) / ${count}::integer)`;
}
