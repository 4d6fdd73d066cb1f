import type { Plan } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { numberOrNull } from './documents.ts';

/** What stands for "no plan" where a plan is to be named; no plan is called so. */
export const noPlan = 'none';

/** A plan as `rms plans …` prints it; null: as the settings of the installation say; 0: no limit. */
export function planDocument(plan: Plan) {
  return {
    name: plan.name,
    rate_limit_requests: numberOrNull(plan.rateLimitRequests),
    rate_limit_window_seconds: numberOrNull(plan.rateLimitWindowSeconds),
    monthly_quota: numberOrNull(plan.monthlyQuota),
  };
}
