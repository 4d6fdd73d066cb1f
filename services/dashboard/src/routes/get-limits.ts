import type { LimitsDocument } from '../documents/limits.ts';
import { tenantEndpoint } from './endpoint.ts';

/** What holds for the keys of this workspace: its plan's limits, and the installation's where the plan says nothing. */
export const getLimits = tenantEndpoint({
  access: 'limits.read',
  method: 'get',
  path: '/limits',
  async handle({ backend, tenant: { workspaceId }, config, context, signal }): Promise<LimitsDocument> {
    const options = { context, signal: signal() };
    const [{ workspaces }, { plans }] = await Promise.all([
      backend.workspaces.listWorkspaces({}, options),
      backend.plans.listPlans({}, options),
    ]);
    const name = workspaces.find(({ id }) => id === workspaceId)?.plan ?? '';
    const plan = plans.find((candidate) => candidate.name === name);
    const { limits } = config;
    return {
      plan: plan?.name ?? null,
      rate_limit_requests: Number(plan?.rateLimitRequests ?? limits.rateLimitRequests),
      rate_limit_window_seconds: Number(plan?.rateLimitWindowSeconds ?? limits.rateLimitWindowSeconds),
      monthly_quota: Number(plan?.monthlyQuota ?? limits.monthlyQuota),
    };
  },
});
