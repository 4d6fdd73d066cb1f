import { limitsDocument } from '@rms/api';
import { limitsOf } from '../checks/limits.ts';
import type { LimitsDocument } from '../documents/limits.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Returns the effective limits and rules of the workspace. */
export const getLimits = tenantEndpoint({
  access: 'workspace:read',
  method: 'get',
  path: '/limits',
  async handle({ backend, tenant: { workspaceId }, config, context, signal }): Promise<LimitsDocument> {
    const { plan } = await backend.workspaces.getWorkspace({ workspaceId }, { context, signal: signal() });
    const { limits, rules } = config;
    return {
      plan: plan?.name ?? null,
      limits: limitsDocument(limitsOf(plan, limits)),
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
