import type { CallerLimits } from '@rms/api';
import type { CallOptions } from '@rms/rpc';
import type { DashboardConfig } from '../config.ts';
import type { Backend } from '../context.ts';

interface Call extends Pick<CallOptions, 'context'> {
  readonly tenant: { readonly workspaceId: string };
}

/** Returns a workspace's limits: its plan's. Where the plan sets none, the installation's apply. */
export async function readLimits(
  { workspaces }: Pick<Backend, 'workspaces'>,
  { limits }: Pick<DashboardConfig, 'limits'>,
  { tenant: { workspaceId }, context }: Call,
): Promise<CallerLimits> {
  const { plan } = await workspaces.getWorkspace({ workspaceId }, { context });
  return {
    rateLimitRequests: Number(plan?.rateLimitRequests ?? limits.rateLimitRequests),
    workspaceRateLimitRequests: Number(plan?.workspaceRateLimitRequests ?? limits.workspaceRateLimitRequests),
    rateLimitWindowSeconds: Number(plan?.rateLimitWindowSeconds ?? limits.rateLimitWindowSeconds),
    monthlyQuota: Number(plan?.monthlyQuota ?? limits.monthlyQuota),
    maxWebhooks: plan?.maxWebhooks,
  };
}
