import type { Queryable } from '@rms/postgres/db';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { countValidKeys } from '../key/key-queries.ts';
import { actingIn } from '../member/acting.ts';
import { requirePermission } from '../member/member.ts';
import type { Plan } from '../plan/plan.ts';
import { toPlanMessage } from '../plan/plan-message.ts';
import { type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
import { found } from '../refusals.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { isLive, toWorkspace, type WorkspaceRow } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Keys are counted up to this number. */
const maxCounted = 100_000;

export function getWorkspace({ pool, maxKeys }: HandlerParts): Handlers<typeof WorkspacesService>['getWorkspace'] {
  return async ({ workspaceId, withKeys }, { actor }) => {
    requirePermission(await actingIn(pool, workspaceId, actor), 'workspace:read');
    const { workspace, plan } = found(await findWorkspaceAndPlan(pool, workspaceId), 'workspace', workspaceId);
    const keyCount = withKeys ? await countValidKeys(pool, workspaceId, maxCounted) : undefined;
    return {
      workspace: toWorkspaceMessage(workspace),
      ...(plan ? { plan: toPlanMessage(plan) } : {}),
      ...(keyCount === undefined ? {} : { keyCount: BigInt(keyCount), maxKeys: BigInt(plan?.maxKeys ?? maxKeys) }),
    };
  };
}

/** Returns a workspace and its plan. The plan is undefined if the workspace has none. */
async function findWorkspaceAndPlan(
  db: Queryable,
  id: string,
): Promise<{ workspace: Workspace; plan: Plan | undefined } | undefined> {
  const { rows } = await db.query<WorkspaceRow & PlanColumns>(
    `select workspaces.id, workspaces.name, workspaces.created_at, workspaces.plan, deletion_started_at, ${planColumns}
       from auth.workspaces left join auth.plans on plans.name = workspaces.plan
      where workspaces.id = $1 and ${isLive}`,
    [id],
  );
  const [row] = rows;
  if (!row) return undefined;
  return {
    workspace: toWorkspace(row),
    plan: row.plan === null ? undefined : { name: row.plan, ...toPlanLimits(row) },
  };
}
