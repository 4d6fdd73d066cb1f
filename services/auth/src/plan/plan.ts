import { maxRequestLimit } from '@rms/base/api-key';
import { type FieldViolation, RmsError } from '@rms/base/errors';

/** A plan's limits. undefined: the limit comes from the settings; 0: no limit. */
export interface PlanLimits {
  readonly rateLimitRequests: number | undefined;
  readonly rateLimitWindowSeconds: number | undefined;
  readonly monthlyQuota: number | undefined;
  /** Requests of all keys of a workspace in an environment together, per window. */
  readonly workspaceRateLimitRequests: number | undefined;
  /** Valid keys per workspace. */
  readonly maxKeys: number | undefined;
  /** Webhooks per workspace, both environments together. */
  readonly maxWebhooks: number | undefined;
}

/** A named set of limits, which several workspaces can use. */
export interface Plan extends PlanLimits {
  readonly name: string;
}

const nameForm = /^[a-z0-9_-]{1,40}$/;
const maxWindowSeconds = 86_400;

/** Throws one `invalid_request` that identifies every invalid field. */
export function checkPlan(plan: Plan): void {
  const details: FieldViolation[] = [
    ...limitViolations('rate_limit_requests', plan.rateLimitRequests),
    ...limitViolations('monthly_quota', plan.monthlyQuota),
    ...limitViolations('workspace_rate_limit_requests', plan.workspaceRateLimitRequests),
    ...limitViolations('max_keys', plan.maxKeys),
    ...limitViolations('max_webhooks', plan.maxWebhooks),
  ];
  if (!nameForm.test(plan.name)) {
    details.push({ field: 'name', message: 'must have 1 to 40 characters of a-z, 0-9, "-" and "_"' });
  }
  const { rateLimitWindowSeconds: window = 1 } = plan;
  if (window < 1 || window > maxWindowSeconds) {
    details.push({ field: 'rate_limit_window_seconds', message: `must be 1 to ${maxWindowSeconds}` });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
}

/** Validates a limit. `least` is 1 where 0 does not mean "no limit". */
export function limitViolations(field: string, limit: number | undefined, least: 0 | 1 = 0): FieldViolation[] {
  return limit === undefined || (limit >= least && limit <= maxRequestLimit)
    ? []
    : [{ field, message: `must be ${least} to ${maxRequestLimit}` }];
}
