/** 0: no limit. */
export interface LimitsDocument {
  /** null: those of the installation. */
  readonly plan: string | null;
  /** Of each key that has no limit of its own. */
  readonly rate_limit_requests: number;
  readonly rate_limit_window_seconds: number;
  /** Of the workspace, in each environment, in a calendar month (UTC). */
  readonly monthly_quota: number;
}
