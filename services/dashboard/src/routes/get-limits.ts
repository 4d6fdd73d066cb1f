import type { LimitsDocument } from '../documents/limits.ts';
import { tenantEndpoint } from './endpoint.ts';

/**
 * Returns the effective limits and rules of the workspace: the limits of its plan. Where the plan sets none, the limits of the
 * installation apply.
 */
export const getLimits = tenantEndpoint({
  access: 'workspace:read',
  method: 'get',
  path: '/limits',
  async handle({ backend, tenant: { workspaceId }, config, context, signal }): Promise<LimitsDocument> {
    const { plan } = await backend.workspaces.getWorkspace({ workspaceId }, { context, signal: signal() });
    const { limits, rules } = config;
    return {
      plan: plan?.name ?? null,
      rate_limit_requests: Number(plan?.rateLimitRequests ?? limits.rateLimitRequests),
      workspace_rate_limit_requests: Number(plan?.workspaceRateLimitRequests ?? limits.workspaceRateLimitRequests),
      rate_limit_window_seconds: Number(plan?.rateLimitWindowSeconds ?? limits.rateLimitWindowSeconds),
      monthly_quota: Number(plan?.monthlyQuota ?? limits.monthlyQuota),
      max_keys: Number(plan?.maxKeys ?? limits.maxKeys),
      max_webhooks: Number(plan?.maxWebhooks ?? limits.maxWebhooks),
      max_members: limits.maxMembers,
      max_invitations: limits.maxInvitations,
      webhook_urls: { http: rules.webhookHttp, private_networks: rules.webhookPrivateNetworks },
      webhook_disable_after_hours: rules.webhookDisableAfterHours,
      delivery_log_days: rules.deliveryLogDays,
      trace_url: config.traceUrl ?? null,
      request_log: config.requestLog,
      request_log_days: rules.requestLogDays,
    };
  },
});
