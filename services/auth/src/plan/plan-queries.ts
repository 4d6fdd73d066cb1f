import type { Queryable } from '@rms/postgres/db';
import type { Plan, PlanLimits } from './plan.ts';

/** The limits of a plan as columns of a joined row. bigint columns arrive as text. */
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

/**
 * Returns a plan, locked until the transaction ends. Creates a plan without limits if it does not exist, and returns
 * undefined. Of two concurrent calls for a new plan, one creates it, and the other waits and returns it.
 */
export async function lockPlan(tx: Queryable, name: string): Promise<Plan | undefined> {
  const { rowCount } = await tx.query('insert into auth.plans (name) values ($1) on conflict do nothing', [name]);
  if (rowCount === 1) return undefined;
  const { rows } = await tx.query<PlanColumns>(`select ${planColumns} from auth.plans where name = $1 for update`, [
    name,
  ]);
  return { name, ...toPlanLimits(rows[0] as PlanColumns) };
}

/** Replaces the limits of a locked plan. */
export async function updatePlan(tx: Queryable, plan: Plan): Promise<void> {
  await tx.query(
    `update auth.plans
        set rate_limit_requests = $2, rate_limit_window_seconds = $3, monthly_quota = $4,
            workspace_rate_limit_requests = $5, max_keys = $6, max_webhooks = $7, updated_at = now()
      where name = $1`,
    [
      plan.name,
      plan.rateLimitRequests,
      plan.rateLimitWindowSeconds,
      plan.monthlyQuota,
      plan.workspaceRateLimitRequests,
      plan.maxKeys,
      plan.maxWebhooks,
    ],
  );
}

/**
 * Deletes a plan unless workspaces have it. Returns the plan and the number of these workspaces; undefined if there is
 * no such plan. No workspace can get the plan until the transaction ends.
 */
export async function deletePlan(tx: Queryable, name: string): Promise<{ plan: Plan; workspaces: number } | undefined> {
  const { rows } = await tx.query<PlanColumns>(`select ${planColumns} from auth.plans where name = $1 for update`, [
    name,
  ]);
  const [row] = rows;
  if (!row) return undefined;
  const count = await tx.query<{ workspaces: number }>(
    'select count(*)::integer as workspaces from auth.workspaces where plan = $1',
    [name],
  );
  const workspaces = count.rows[0]?.workspaces ?? 0;
  if (workspaces === 0) await tx.query('delete from auth.plans where name = $1', [name]);
  return { plan: { name, ...toPlanLimits(row) }, workspaces };
}

/** Returns all plans, sorted by name. */
export async function listAllPlans(db: Queryable): Promise<Plan[]> {
  const { rows } = await db.query<{ name: string } & PlanColumns>(
    `select name, ${planColumns} from auth.plans order by name`,
  );
  return rows.map((row) => ({ name: row.name, ...toPlanLimits(row) }));
}

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
