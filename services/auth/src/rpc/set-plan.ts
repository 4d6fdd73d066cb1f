import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkPlan, type Plan } from '../plan/plan.ts';
import { planSet } from '../plan/plan-audit.ts';
import { fromPlanMessage, toPlanMessage } from '../plan/plan-message.ts';
import { type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
import type { HandlerParts } from './handler.ts';

export function setPlan({ pool, log }: HandlerParts): Handlers<typeof PlansService>['setPlan'] {
  return async (request, context) => {
    if (!request.plan) throw new RmsError('invalid_request', { details: [{ field: 'plan', message: 'is required' }] });
    const plan = fromPlanMessage(request.plan);
    checkPlan(plan);
    await inTransaction(pool, async (tx) => {
      const before = await lockPlan(tx, plan.name);
      await updatePlan(tx, plan);
      await appendAudit(tx, context, [planSet(before, plan)]);
    });
    log.info({ plan: plan.name }, 'plan set');
    return { plan: toPlanMessage(plan) };
  };
}

/**
 * Returns a plan, locked until the transaction ends. Creates a plan without limits if it does not exist, and returns
 * undefined. Of two concurrent calls for a new plan, one creates it, and the other waits and returns it.
 */
async function lockPlan(tx: Queryable, name: string): Promise<Plan | undefined> {
  const { rowCount } = await tx.query('insert into auth.plans (name) values ($1) on conflict do nothing', [name]);
  if (rowCount === 1) return undefined;
  const { rows } = await tx.query<PlanColumns>(`select ${planColumns} from auth.plans where name = $1 for update`, [
    name,
  ]);
  return { name, ...toPlanLimits(rows[0] as PlanColumns) };
}

/** Replaces a locked plan's limits. */
async function updatePlan(tx: Queryable, plan: Plan): Promise<void> {
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
