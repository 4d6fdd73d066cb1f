import type { Plan } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { numberOrNull } from './documents.ts';

/** Argument value that means "no plan". No plan can have this name. */
export const noPlan = 'none';

/** Returns a plan for the output of `rms plans …`. null: the installation's default. 0: no limit. */
export function planDocument(plan: Plan) {
  return {
    name: plan.name,
    rate_limit_requests: numberOrNull(plan.rateLimitRequests),
    rate_limit_window_seconds: numberOrNull(plan.rateLimitWindowSeconds),
    monthly_quota: numberOrNull(plan.monthlyQuota),
    workspace_rate_limit_requests: numberOrNull(plan.workspaceRateLimitRequests),
    max_keys: numberOrNull(plan.maxKeys),
    max_webhooks: numberOrNull(plan.maxWebhooks),
  };
}
