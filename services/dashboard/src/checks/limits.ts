import type { CallerLimits } from '@rms/api';
import type { Plan } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { CallOptions } from '@rms/rpc';
import type { DashboardConfig } from '../config.ts';
import type { Backend } from '../context.ts';

interface Call extends Pick<CallOptions, 'context'> {
  readonly tenant: { readonly workspaceId: string };
}

/** Returns a workspace's limits. */
export async function readLimits(
  { workspaces }: Pick<Backend, 'workspaces'>,
  { limits }: Pick<DashboardConfig, 'limits'>,
  { tenant: { workspaceId }, context }: Call,
): Promise<CallerLimits> {
  const { plan } = await workspaces.getWorkspace({ workspaceId }, { context });
  return limitsOf(plan, limits);
}

/** Returns a plan's limits. Where it sets none, the installation's apply. */
export function limitsOf(plan: Plan | undefined, limits: DashboardConfig['limits']): CallerLimits {
  return {
    rateLimitRequests: Number(plan?.rateLimitRequests ?? limits.rateLimitRequests),
    workspaceRateLimitRequests: Number(plan?.workspaceRateLimitRequests ?? limits.workspaceRateLimitRequests),
    rateLimitWindowSeconds: Number(plan?.rateLimitWindowSeconds ?? limits.rateLimitWindowSeconds),
    monthlyQuota: Number(plan?.monthlyQuota ?? limits.monthlyQuota),
    maxWebhooks: plan?.maxWebhooks,
  };
}
