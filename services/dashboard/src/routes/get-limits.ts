import type { LimitsDocument } from '../documents/limits.ts';
import { tenantEndpoint } from './endpoint.ts';

/**
 * Returns the effective limits of the workspace: the limits of its plan. Where the plan sets none, the limits of the
 * installation apply.
 */
export const getLimits = tenantEndpoint({
  access: 'limits.read',
  method: 'get',
  path: '/limits',
  async handle({ backend, tenant: { workspaceId }, config, context, signal }): Promise<LimitsDocument> {
    const { plan } = await backend.workspaces.getWorkspace({ workspaceId }, { context, signal: signal() });
    const { limits } = config;
    return {
      plan: plan?.name ?? null,
      rate_limit_requests: Number(plan?.rateLimitRequests ?? limits.rateLimitRequests),
      workspace_rate_limit_requests: Number(plan?.workspaceRateLimitRequests ?? limits.workspaceRateLimitRequests),
      rate_limit_window_seconds: Number(plan?.rateLimitWindowSeconds ?? limits.rateLimitWindowSeconds),
      monthly_quota: Number(plan?.monthlyQuota ?? limits.monthlyQuota),
      max_keys: Number(plan?.maxKeys ?? limits.maxKeys),
      max_webhooks: Number(plan?.maxWebhooks ?? limits.maxWebhooks),
    };
  },
});
