/** The scheduler's limits, with the reasons that are not obvious. docs/adr/0025 describes the scheduler. */
export const limits = {
  /** Attempts in flight at this instance. */
  attempts: 2_560,
  /** … of a workspace. Five workspaces can fill an instance; bounds the sockets and memory of each. */
  attemptsOfWorkspace: 512,
  /**
   * Part of each of these two limits that endpoints with a slow or failed last attempt may use together. The rest
   * always remains for fast endpoints.
   */
  partOfFailing: 1 / 2,
  /**
   * Attempts in flight of a webhook, for all instances together, until this instance knows its `max_concurrency`.
   * Enough for 3,200 events per second at 10 ms; bounds the attempts that are repeated after a crash.
   */
  attemptsOfWebhook: 32,
  /**
   * Deliveries of a fast endpoint that may be leased ahead, per concurrent attempt. They are refilled when one per
   * concurrent attempt remains, so that a lease for a busy endpoint takes about 100 deliveries. Without leasing ahead it
   * takes 14, PostgreSQL uses 0.28 instead of 0.16 CPU-seconds per 1,000 deliveries, and 20 % fewer deliveries end per
   * second.
   */
  aheadPerAttempt: 4,
  /**
   * Time that starting attempts takes per turn of the event loop, in milliseconds, round-robin over workspaces. Without
   * a limit, an event for hundreds of webhooks would occupy the process for 0.1 s and longer.
   */
  startsPerTurnMs: 1,
  /** Total size in bytes of the bodies of leased deliveries. Above it, leasing stops. */
  bytes: 128 * 1024 * 1024,
  /** Deliveries per lease, and webhooks per lease. */
  deliveriesPerLease: 400,
  webhooksPerLease: 100,
  /**
   * Due webhooks that are waiting for a lease. Bounds memory, and a decision's time. Beyond it, a webhook of
   * another workspace replaces one of the workspace with the most.
   */
  waiting: 1_000,
  /** An attempt that takes longer is slow. */
  slowMs: 5_000,
  /** Consecutive failures that open a circuit. */
  failuresToOpen: 10,
  /** First pause before a probe. Short, so that a restarted endpoint is found quickly. */
  firstPauseMs: 500,
  maxPauseMs: 10_000,
  /** Keeps endpoints that failed together from being probed together. */
  jitter: 0.5,
  /**
   * How much earlier than at the exact rate an attempt of a webhook with a rate limit may start. More than the shortest
   * time between polls, so that the rate is reached.
   */
  rateToleranceMs: 50,
  /** Maximum time from a lease to the start of its attempt. A later attempt could outlast the lease. */
  startWithinMs: 7_000,
  /** Time for the attempts in flight when an instance stops: shorter than the time until its process is ended. */
  stopWithinMs: 20_000,
  /** Pause of a slot that found no file descriptor or memory for a connection. */
  noConnectionMs: 1_000,
  /** Longest and shortest time between polls, which find deliveries of other instances. */
  pollMs: 1_000,
  betweenPollsMs: 20,
  /** Pause before a webhook that another transaction has locked is leased again. */
  lockedMs: 5,
  /**
   * Maximum part of the time that polls take, with pauses of at most `pollMs`. A poll skips the due webhooks of
   * workspaces that are at their limits.
   */
  partOfTimeForPolls: 1 / 10,
  /** Delay after a database outage, so that other instances first record their finished attempts. */
  afterOutageMs: 1_500,
  /** Endpoints that each cache keeps: idle ones with a concurrency limit and a circuit, secrets, health. */
  endpointsKept: 10_000,
} as const;

/**
 * Duration of a lease, in addition to the timeout of its webhook: the time until the attempt starts, and 3 s to record the
 * result. Afterwards another instance may attempt the delivery.
 */
export const leaseMarginMs = limits.startWithinMs + 3_000;

export type Limits = { readonly [name in keyof typeof limits]: number };

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
