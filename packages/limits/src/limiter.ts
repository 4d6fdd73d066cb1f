import type { Tenant } from '@rms/base/tenant';
/** A request to check against the limits and the revocation marker of its key. */
export interface LimitCheck extends Tenant {
  readonly keyId: string;
  /** Key version of the caller's cached principal. A marker with a later version makes it stale. */
  readonly keyVersion: number;
  /** Unset: the installation's limits. */
  readonly limits?: Limits | undefined;
  /**
   * Whether the request will be rejected for its scope or address. Such requests have their own rate limit, as high as
   * that of the key. They count neither toward the limits of accepted requests nor toward the quota, so that a client
   * with a leaked key cannot use these up from outside the allowlist.
   */
  readonly refused?: boolean;
}

/** A key change (revoked, rolled, updated) that invalidates cached principals of earlier versions. */
export interface KeyChange {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly version: number;
}

/**
 * Time that gateways trust the revocation markers after an auth instance has confirmed them. Bounds the age of key
 * state that gateways rely on.
 */
export const markersTrustMs = 6_000;
/** How long a revocation marker is kept: longer than any gateway caches a principal. */
export const markerTtlMs = 3_600_000;

/** A workspace's usage of a monthly quota, as counted outside of Redis. */
export interface QuotaUse extends Tenant {
  /** Any time in the month (UTC), in milliseconds since 1970. */
  readonly monthMs: number;
  readonly used: number;
}

/** State of a limit after a check. Times are in seconds, rounded up. */
export interface LimitState {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the full limit is available (rate) or the next month starts (quota). */
  readonly resetSeconds: number;
}

/** Whether the caller's cached principal is still valid. */
export type Freshness =
  | 'current'
  /** The key has changed since: ask auth, regardless of any cache. */
  | 'changed'
  /** Unknown, because Redis is unreachable or no auth instance has confirmed its markers recently. Ask auth. */
  | 'unknown';

/** Result of a check. A limit is undefined if it does not apply. */
export type LimitDecision = {
  readonly freshness: Freshness;
  /** Rate limit of the key. */
  readonly rate: LimitState | undefined;
  /** Rate limit of the workspace and environment. */
  readonly workspaceRate: LimitState | undefined;
  readonly quota: LimitState | undefined;
} & (
  | { readonly outcome: 'allowed' }
  | {
      readonly outcome: 'rate_limited' | 'quota_exceeded';
      /** Time until the next request is allowed. */
      readonly retryAfterSeconds: number;
    }
);

/**
 * Rate limits, monthly quota and revocation markers in one round trip per request. Implemented on Redis and in memory.
 */
export interface Limiter {
  check(check: LimitCheck, signal?: AbortSignal): Promise<LimitDecision>;
  /**
   * Counts a failed authentication of an address. Returns the seconds during which the address must be rejected; 0
   * while it is within the limit.
   */
  countFailure(address: string): Promise<number>;
  /**
   * Sets revocation markers for longer than any gateway caches a principal. Never replaces a marker that has a later
   * version. Resolves once every later check sees the markers; rejects if that is not certain.
   */
  setMarkers(changes: readonly KeyChange[]): Promise<void>;
  /**
   * Confirms the markers. `setAll` passes the markers of all changes that were committed before it began to `set`. When
   * it resolves, gateways trust the markers for {@link markersTrustMs}, counted from before it began.
   *
   * Each server is confirmed for itself: all markers of its keys must be set, and of a Redis Cluster, it must own no
   * other keys. Rejects if a server is not confirmed, and confirms none if `setAll` rejects.
   */
  confirmMarkers(setAll: (set: SetMarkers) => Promise<void>): Promise<void>;
  /** Interval of auth's marker confirmations. */
  readonly confirmEveryMs: number;
  /**
   * Returns the time in milliseconds since 1970 by the clock that all processes share: that of Redis, continued by the
   * monotonic clock. Uses the clock of this machine without Redis, and until Redis responds for the first time.
   */
  nowMs(): number;
  /** Raises quota counters to the used amounts; never lowers a counter. Rejects if Redis is unreachable. */
  raiseQuotas(uses: readonly QuotaUse[]): Promise<void>;
  /**
   * Registers a listener that is called when markers may have been lost (connection lost, server restarted): caches of
   * principals must be cleared. Returns a function that unregisters it.
   */
  onMarkersLost(listener: () => void): () => void;
  healthy(): Promise<boolean>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Sets revocation markers. Returns the changes with markers that are set; the other changes' servers are unreachable.
 */
export type SetMarkers = <Change extends KeyChange>(changes: readonly Change[]) => Promise<readonly Change[]>;

/** Limits of requests. 0 disables a limit. */
export interface Limits {
  /** Requests per key and window. */
  readonly rateLimitRequests: number;
  /** Requests of all keys of a workspace and environment together, per window. */
  readonly workspaceRateLimitRequests: number;
  readonly rateLimitWindowSeconds: number;
  /** Requests per workspace, environment and calendar month (UTC). */
  readonly monthlyQuota: number;
}

/** Limits of the installation, used for checks without `limits`. */
export interface LimiterOptions extends Limits {
  /** Failed authentications per address and minute; 0: unlimited. */
  readonly authFailureLimit: number;
}
