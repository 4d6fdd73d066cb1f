/** Usage in one minute, hour or day, or in the whole span. */
export interface UsagePointDocument {
  readonly at: string | null;
  readonly requests: number;
  readonly client_errors: number;
  readonly server_errors: number;
  readonly rate_limited: number;
  readonly p95_ms: number;
  readonly attempts: number;
  readonly failed_attempts: number;
  readonly delivered: number;
  readonly failed: number;
  readonly canceled: number;
  readonly delivery_p95_ms: number;
}

export interface UsageDocument {
  /** Oldest first, without gaps. The last point is incomplete. */
  readonly points: readonly UsagePointDocument[];
  /** Sums of all points, with quantiles over the whole span. */
  readonly total: UsagePointDocument;
  readonly month: {
    readonly used: number;
    /** 0: no quota. null: no request has been counted yet. */
    readonly quota: number | null;
    readonly ends_at: string | null;
  };
}

/** Number of unfinished deliveries. */
export interface UnfinishedDocument {
  /** 10,000 means 10,000 or more. */
  readonly count: number;
}

export const spanNames = ['hour', 'day', 'month'] as const;
export type SpanName = (typeof spanNames)[number];
