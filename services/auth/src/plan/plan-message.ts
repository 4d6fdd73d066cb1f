import type { Limits } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Plan as PlanMessage } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Plan, PlanLimits } from './plan.ts';

/** A plan as rms.auth.v1.Plan. */
export function toPlanMessage(plan: Plan) {
  return { name: plan.name, ...toLimitsMessage(plan) };
}

export function fromPlanMessage(message: PlanMessage): Plan {
  return {
    name: message.name,
    rateLimitRequests: optional(message.rateLimitRequests),
    rateLimitWindowSeconds: optional(message.rateLimitWindowSeconds),
    monthlyQuota: optional(message.monthlyQuota),
  };
}

/** Limits as rms.auth.v1.Limits: what is as the settings say is unset. */
export function toLimitsMessage({ rateLimitRequests, rateLimitWindowSeconds, monthlyQuota }: PlanLimits) {
  const limits: Partial<Pick<Limits, 'rateLimitRequests' | 'rateLimitWindowSeconds' | 'monthlyQuota'>> = {};
  if (rateLimitRequests !== undefined) limits.rateLimitRequests = BigInt(rateLimitRequests);
  if (rateLimitWindowSeconds !== undefined) limits.rateLimitWindowSeconds = BigInt(rateLimitWindowSeconds);
  if (monthlyQuota !== undefined) limits.monthlyQuota = BigInt(monthlyQuota);
  return limits;
}

/** An optional int64 as a number; a limit is below 10^12, and what is not is refused as such. */
export function optional(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
