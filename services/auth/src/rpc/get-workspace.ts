import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { actingIn } from '../member/acting.ts';
import { requirePermission } from '../member/member.ts';
import { toPlanMessage } from '../plan/plan-message.ts';
import { found } from '../refusals.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { findWorkspaceAndPlan } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

export function getWorkspace({ pool }: HandlerParts): Handlers<typeof WorkspacesService>['getWorkspace'] {
  return async ({ workspaceId }, { actor }) => {
    requirePermission(await actingIn(pool, workspaceId, actor), 'limits.read');
    const { workspace, plan } = found(await findWorkspaceAndPlan(pool, workspaceId), 'workspace', workspaceId);
    return { workspace: toWorkspaceMessage(workspace), ...(plan ? { plan: toPlanMessage(plan) } : {}) };
  };
}
