import type { Workspace as Message } from '@rms/proto/rms/auth/v1/workspace_pb';
import type { CallerLimits } from '../endpoint.ts';
import { presentTimeOf } from '../times.ts';
import type { Workspace } from './schema.ts';

/** Returns the fields of the API representation of a workspace that are the same for every caller. */
export function workspaceDocument(
  workspace: Message | undefined,
): Pick<Workspace, 'id' | 'type' | 'name' | 'plan' | 'created_at'> {
  if (!workspace) throw new Error('auth returned no workspace');
  const { id, name, plan, createTime } = workspace;
  return { id, type: 'workspace', name, plan: plan || null, created_at: presentTimeOf(createTime) };
}

/** Returns the API representation of limits. */
export function limitsDocument(limits: CallerLimits): Workspace['limits'] {
  return {
    requests_per_window: limits.rateLimitRequests || null,
    workspace_requests_per_window: limits.workspaceRateLimitRequests || null,
    window_seconds: limits.rateLimitWindowSeconds,
    requests_per_month: limits.monthlyQuota || null,
  };
}
