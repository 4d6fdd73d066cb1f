/** What happened in a minute, an hour or a day. */
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
  readonly delivery_p95_ms: number;
}

export interface UsageDocument {
  /** Oldest first, without gaps; the last one is under way. */
  readonly points: readonly UsagePointDocument[];
  readonly month: {
    readonly used: number;
    /** 0: none; null: nothing was counted yet. */
    readonly quota: number | null;
    readonly ends_at: string | null;
  };
}

export const spanNames = ['hour', 'day', 'month'] as const;
export type SpanName = (typeof spanNames)[number];
