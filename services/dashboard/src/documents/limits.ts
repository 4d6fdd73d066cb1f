/** Effective limits. 0: no limit. */
export interface LimitsDocument {
  /** null: the limits of the installation. */
  readonly plan: string | null;
  /** Maximum rate limit of a key. */
  readonly rate_limit_requests: number;
  /** Rate limit that all keys of an environment share. */
  readonly workspace_rate_limit_requests: number;
  readonly rate_limit_window_seconds: number;
  /** Requests of the workspace per environment and calendar month (UTC). */
  readonly monthly_quota: number;
  /** Maximum number of valid keys. */
  readonly max_keys: number;
  /** Maximum number of webhooks in both environments together. */
  readonly max_webhooks: number;
}
