import { type FieldViolation, RmsError } from '@rms/errors';

/** Limits of a plan. undefined: as the settings of the installation say; 0: no limit. */
export interface PlanLimits {
  readonly rateLimitRequests: number | undefined;
  readonly rateLimitWindowSeconds: number | undefined;
  readonly monthlyQuota: number | undefined;
}

/** Limits under a name, which workspaces share. */
export interface Plan extends PlanLimits {
  readonly name: string;
}

const nameForm = /^[a-z0-9_-]{1,40}$/;
const most = 1e12;
const longestWindowSeconds = 86_400;

/** Throws one `invalid_request` that names every wrong field. */
export function checkPlan(plan: Plan): void {
  const details: FieldViolation[] = [
    ...limitViolations('rate_limit_requests', plan.rateLimitRequests),
    ...limitViolations('monthly_quota', plan.monthlyQuota),
  ];
  if (!nameForm.test(plan.name)) {
    details.push({ field: 'name', message: 'must have 1 to 40 characters of a-z, 0-9, "-" and "_"' });
  }
  const { rateLimitWindowSeconds: window = 1 } = plan;
  if (window < 1 || window > longestWindowSeconds) {
    details.push({ field: 'rate_limit_window_seconds', message: `must be 1 to ${longestWindowSeconds}` });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
}

/** What is wrong with a number of requests. */
export function limitViolations(field: string, limit: number | undefined): FieldViolation[] {
  return limit === undefined || (limit >= 0 && limit <= most) ? [] : [{ field, message: `must be 0 to ${most}` }];
}
