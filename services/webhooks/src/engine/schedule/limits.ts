/** Limits of the scheduler. docs/adr/0025 gives the reason for each. */
export const limits = {
  /** Attempts in flight at this instance. */
  attempts: 2_560,
  /** … of a workspace. */
  attemptsOfWorkspace: 512,
  /** Part of each of these two limits that endpoints whose last attempt was slow or failed may use together. */
  partOfFailing: 1 / 2,
  /** Attempts in flight of a webhook, for all instances together, until this instance knows its `max_concurrency`. */
  attemptsOfWebhook: 32,
  /**
   * Deliveries of a fast endpoint that may be leased ahead, per concurrent attempt. They are refilled when a quarter
   * remains, so that a lease for a busy endpoint takes many deliveries.
   */
  aheadPerAttempt: 4,
  aheadAtRefill: 1 / 4,
  /** Time that starts of attempts take in a turn of the event loop, in milliseconds. Workspaces take turns. */
  startsPerTurnMs: 1,
  /** Total size in bytes of the bodies of leased deliveries. Nothing is leased above it. */
  bytes: 128 * 1024 * 1024,
  /** Deliveries per lease, and webhooks per lease. */
  deliveriesPerLease: 400,
  webhooksPerLease: 100,
  /** Due webhooks that wait for a lease. Bounds memory, and the time of a decision. */
  waiting: 1_000,
  /** An attempt that takes longer is slow. */
  slowMs: 5_000,
  /** Consecutive failures that open a circuit. */
  failuresToOpen: 10,
  firstPauseMs: 500,
  /** First pause of an endpoint that was slow or had failed before this instance knew it. */
  suspectedPauseMs: 5_000,
  maxPauseMs: 10_000,
  /** Keeps endpoints that failed together from being probed together. */
  jitter: 0.5,
  /** How long before its time at the exact rate an attempt of a webhook with a rate limit may start. */
  rateToleranceMs: 50,
  /** Pause of a slot that found no file descriptor or memory for a connection. */
  noConnectionMs: 1_000,
  /** Longest and shortest time between polls. */
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
  /** Idle endpoints whose concurrency limit and circuit are remembered. */
  endpointsKept: 10_000,
} as const;

export type Limits = { readonly [name in keyof typeof limits]: number };
