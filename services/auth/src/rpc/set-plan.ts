import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkPlan } from '../plan/plan.ts';
import { fromPlanMessage, toPlanMessage } from '../plan/plan-message.ts';
import { upsertPlan } from '../plan/plan-queries.ts';
import type { HandlerParts } from './handler.ts';

export function setPlan({ pool, log }: HandlerParts): Handlers<typeof PlansService>['setPlan'] {
  return async (request, context) => {
    if (!request.plan) throw new RmsError('invalid_request', { details: [{ field: 'plan', message: 'is required' }] });
    const plan = fromPlanMessage(request.plan);
    checkPlan(plan);
    const { name } = plan;
    const details = {
      rate_limit_requests: plan.rateLimitRequests ?? null,
      rate_limit_window_seconds: plan.rateLimitWindowSeconds ?? null,
      monthly_quota: plan.monthlyQuota ?? null,
      workspace_rate_limit_requests: plan.workspaceRateLimitRequests ?? null,
      max_keys: plan.maxKeys ?? null,
      max_webhooks: plan.maxWebhooks ?? null,
    };
    await inTransaction(pool, async (tx) => {
      await upsertPlan(tx, plan);
      await appendAudit(tx, context, [{ workspaceId: '', action: 'plan.set', targetId: name, details }]);
    });
    log.info({ plan: name }, 'plan set');
    return { plan: toPlanMessage(plan) };
  };
}
