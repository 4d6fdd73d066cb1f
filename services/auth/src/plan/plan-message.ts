import type { Plan as PlanMessage } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Plan, PlanLimits } from './plan.ts';

/** Converts a plan to rms.auth.v1.Plan. */
export function toPlanMessage(plan: Plan) {
  return {
    name: plan.name,
    ...toLimitsMessage(plan),
    ...(plan.maxKeys === undefined ? {} : { maxKeys: BigInt(plan.maxKeys) }),
  };
}

export function fromPlanMessage(message: PlanMessage): Plan {
  return {
    name: message.name,
    rateLimitRequests: optional(message.rateLimitRequests),
    rateLimitWindowSeconds: optional(message.rateLimitWindowSeconds),
    monthlyQuota: optional(message.monthlyQuota),
    workspaceRateLimitRequests: optional(message.workspaceRateLimitRequests),
    maxKeys: optional(message.maxKeys),
    maxWebhooks: optional(message.maxWebhooks),
  };
}

/**
 * Converts the limits that the gateway enforces or forwards to rms.auth.v1.Limits. Limits that come from the settings
 * are unset.
 */
export function toLimitsMessage(limits: PlanLimits) {
  const { rateLimitRequests, rateLimitWindowSeconds, monthlyQuota, workspaceRateLimitRequests, maxWebhooks } = limits;
  return {
    ...(rateLimitRequests === undefined ? {} : { rateLimitRequests: BigInt(rateLimitRequests) }),
    ...(rateLimitWindowSeconds === undefined ? {} : { rateLimitWindowSeconds: BigInt(rateLimitWindowSeconds) }),
    ...(monthlyQuota === undefined ? {} : { monthlyQuota: BigInt(monthlyQuota) }),
    ...(workspaceRateLimitRequests === undefined
      ? {}
      : { workspaceRateLimitRequests: BigInt(workspaceRateLimitRequests) }),
    ...(maxWebhooks === undefined ? {} : { maxWebhooks: BigInt(maxWebhooks) }),
  };
}

/** Converts an optional int64. Limits are at most 10^12; larger values are rejected by validation. */
export function optional(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
