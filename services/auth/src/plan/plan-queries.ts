import type { Queryable } from '@rms/db';
import type { Plan, PlanLimits } from './plan.ts';

/** A plan's limits as they stand beside a key; bigint as text. */
export interface PlanColumns {
  readonly plan_rate_limit_requests: string | null;
  readonly plan_rate_limit_window_seconds: string | null;
  readonly plan_monthly_quota: string | null;
}

/** Makes a plan or replaces it. */
export async function upsertPlan(tx: Queryable, plan: Plan): Promise<void> {
  await tx.query(
    `insert into auth.plans (name, rate_limit_requests, rate_limit_window_seconds, monthly_quota)
     values ($1, $2, $3, $4)
         on conflict (name) do update
        set rate_limit_requests = excluded.rate_limit_requests,
            rate_limit_window_seconds = excluded.rate_limit_window_seconds,
            monthly_quota = excluded.monthly_quota, updated_at = now()`,
    [plan.name, plan.rateLimitRequests, plan.rateLimitWindowSeconds, plan.monthlyQuota],
  );
}

/** All plans, by name. */
export async function listAllPlans(db: Queryable): Promise<Plan[]> {
  const { rows } = await db.query<{ name: string } & PlanColumns>(
    `select name, rate_limit_requests as plan_rate_limit_requests,
            rate_limit_window_seconds as plan_rate_limit_window_seconds, monthly_quota as plan_monthly_quota
       from auth.plans order by name`,
  );
  return rows.map((row) => ({ name: row.name, ...toPlanLimits(row) }));
}

export async function planExists(db: Queryable, name: string): Promise<boolean> {
  const { rowCount } = await db.query('select from auth.plans where name = $1', [name]);
  return rowCount === 1;
}

/** The limits in a row; of a workspace without a plan (left join), all undefined. */
export function toPlanLimits(row: PlanColumns): PlanLimits {
  return {
    rateLimitRequests: optionalNumber(row.plan_rate_limit_requests),
    rateLimitWindowSeconds: optionalNumber(row.plan_rate_limit_window_seconds),
    monthlyQuota: optionalNumber(row.plan_monthly_quota),
  };
}

/** A bigint column that fits a number. */
export function optionalNumber(text: string | null): number | undefined {
  return text === null ? undefined : Number(text);
}
