/** What one request asks: may this key call now? */
export interface LimitCheck {
  readonly workspaceId: string;
  readonly environment: 'live' | 'sandbox';
  readonly keyId: string;
  /** The version of the key that the caller's verdict was made on: a mark of a later one makes the verdict stale. */
  readonly keyVersion: number;
  /** Unset: those of the installation. */
  readonly limits?: Limits | undefined;
}

/** A change of a key that makes verdicts on earlier versions void: revoked, rolled, updated. */
export interface KeyChange {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly version: number;
}

/**
 * How long gateways trust the marks after an auth instance has vouched for them: what they rely on then cannot be older.
 */
export const marksTrustMs = 6_000;

/** What a workspace has used of the quota of a month, as somebody else has counted it. */
export interface QuotaUse {
  readonly workspaceId: string;
  readonly environment: 'live' | 'sandbox';
  /** Any moment of the month (UTC), in milliseconds since 1970. */
  readonly monthMs: number;
  readonly used: number;
}

/** The state of one limit after a check. Times in seconds, rounded up. */
export interface LimitState {
  readonly limit: number;
  readonly remaining: number;
  /** Until the limit is whole again (rate) or starts anew (quota). */
  readonly resetSeconds: number;
}

/** Whether what the caller knows of the key still holds. */
export type Standing =
  | 'current'
  /** The key has changed since: ask auth, whatever a cache says. */
  | 'changed'
  /** Nobody can say: Redis cannot be asked, or no auth instance vouches for the marks in it. Ask auth. */
  | 'unknown';

export type LimitDecision = {
  readonly standing: Standing;
  readonly rate: LimitState | undefined;
  readonly quota: LimitState | undefined;
} & (
  | { readonly outcome: 'allowed' }
  | {
      readonly outcome: 'rate_limited' | 'quota_exceeded';
      /** Waiting exactly so long lets the next request in. */
      readonly retryAfterSeconds: number;
    }
);

/** Rate limit, monthly quota and marks of key changes: one round trip per request. Redis and memory implement it. */
export interface Limiter {
  check(check: LimitCheck, signal?: AbortSignal): Promise<LimitDecision>;
  /**
   * Counts a failed authentication of an address. Answers with the seconds for which the address is to be refused: 0
   * while it is within the limit.
   */
  countFailure(address: string): Promise<number>;
  /**
   * Marks keys for longer than any gateway caches a verdict; a mark of an earlier version never replaces that of a later
   * one. Resolves once every later check sees it; rejects if that can't be promised.
   */
  mark(changes: readonly KeyChange[]): Promise<void>;
  /**
   * Vouches for the marks: `setAll` sets those of all changes that were committed before it began, and once it resolves
   * gateways trust the marks for {@link marksTrustMs}, counted from before it began. Rejects, and vouches for nothing, if
   * `setAll` does or Redis cannot be reached.
   */
  confirmMarks(setAll: () => Promise<void>): Promise<void>;
  /** Raises counters of quotas to what was used; none is lowered. Rejects if Redis cannot be asked. */
  raiseQuotas(uses: readonly QuotaUse[]): Promise<void>;
  /**
   * Called whenever marks may have been lost (the connection broke, the server restarted): caches of principals must be
   * emptied. Returns a function that ends the subscription.
   */
  onMarksLost(listener: () => void): () => void;
  healthy(): Promise<boolean>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** 0 switches a limit off. */
export interface Limits {
  /** Requests a key may make in each window. */
  readonly rateLimitRequests: number;
  readonly rateLimitWindowSeconds: number;
  /** Requests per workspace, environment and calendar month (UTC). */
  readonly monthlyQuota: number;
}

/** The limits of the installation, which hold where a check brings none. */
export interface LimiterOptions extends Limits {
  /** Failed authentications that an address may have in a minute; 0: any number. */
  readonly authFailureLimit: number;
}
