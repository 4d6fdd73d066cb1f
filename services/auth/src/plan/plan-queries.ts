import type { Queryable } from '@rms/postgres/db';
import type { PlanLimits } from './plan.ts';

/** A plan's limits as columns of a joined row. bigint columns arrive as text. */
export interface PlanColumns {
  readonly plan_rate_limit_requests: string | null;
  readonly plan_rate_limit_window_seconds: string | null;
  readonly plan_monthly_quota: string | null;
  readonly plan_workspace_rate_limit_requests: string | null;
  readonly plan_max_keys: string | null;
  readonly plan_max_webhooks: string | null;
}

/** The columns of `auth.plans` as PlanColumns. */
export const planColumns = `plans.rate_limit_requests as plan_rate_limit_requests,
  plans.rate_limit_window_seconds as plan_rate_limit_window_seconds, plans.monthly_quota as plan_monthly_quota,
  plans.workspace_rate_limit_requests as plan_workspace_rate_limit_requests, plans.max_keys as plan_max_keys,
  plans.max_webhooks as plan_max_webhooks`;

export async function planExists(db: Queryable, name: string): Promise<boolean> {
  const { rowCount } = await db.query('select from auth.plans where name = $1', [name]);
  return rowCount === 1;
}

/** Reads the limits from a row. For a workspace without a plan (left join), all are undefined. */
export function toPlanLimits(row: PlanColumns): PlanLimits {
  return {
    rateLimitRequests: optionalNumber(row.plan_rate_limit_requests),
    rateLimitWindowSeconds: optionalNumber(row.plan_rate_limit_window_seconds),
    monthlyQuota: optionalNumber(row.plan_monthly_quota),
    workspaceRateLimitRequests: optionalNumber(row.plan_workspace_rate_limit_requests),
    maxKeys: optionalNumber(row.plan_max_keys),
    maxWebhooks: optionalNumber(row.plan_max_webhooks),
  };
}

/** Converts a nullable bigint column to a number. */
export function optionalNumber(text: string | null): number | undefined {
  return text === null ? undefined : Number(text);
}
