/** What one request asks: may this key call now? */
export interface LimitCheck {
  readonly workspaceId: string;
  readonly environment: 'live' | 'sandbox';
  readonly keyId: string;
}

/** The state of one limit after a check. Times in seconds, rounded up. */
export interface LimitState {
  readonly limit: number;
  readonly remaining: number;
  /** Until the limit is whole again (rate) or starts anew (quota). */
  readonly resetSeconds: number;
}

export type LimitDecision =
  | { readonly outcome: 'allowed'; readonly rate: LimitState | undefined; readonly quota: LimitState | undefined }
  | {
      readonly outcome: 'rate_limited' | 'quota_exceeded';
      readonly rate: LimitState | undefined;
      readonly quota: LimitState | undefined;
      /** Waiting exactly so long lets the next request in. */
      readonly retryAfterSeconds: number;
    }
  /** The key is marked as revoked: refuse, whatever a cache says. */
  | { readonly outcome: 'revoked' }
  /** Redis cannot be asked. Limits were applied locally; whether the key is revoked has to be asked of auth. */
  | { readonly outcome: 'unknown'; readonly rate: LimitState | undefined };

/** Rate limit, monthly quota and revocation marks: one round trip per request. Redis and memory implement it. */
export interface Limiter {
  check(check: LimitCheck, signal?: AbortSignal): Promise<LimitDecision>;
  /**
   * Marks keys as revoked for longer than any gateway caches a principal. Resolves once every later check sees it;
   * rejects if that can't be promised.
   */
  markRevoked(keys: readonly { workspaceId: string; keyId: string }[]): Promise<void>;
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
export interface LimiterOptions {
  /** Requests a key may make in each window. */
  readonly rateLimitRequests: number;
  readonly rateLimitWindowSeconds: number;
  /** Requests per workspace, environment and calendar month (UTC). */
  readonly monthlyQuota: number;
}
