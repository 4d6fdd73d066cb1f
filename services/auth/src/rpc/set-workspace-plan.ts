import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { planExists } from '../plan/plan-queries.ts';
import { found } from '../refusals.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { workspacePlanSet } from '../workspace/workspace-audit.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { columns, isLive, lockWorkspace, toWorkspace, type WorkspaceRow } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

export function setWorkspacePlan({ pool, log }: HandlerParts): Handlers<typeof WorkspacesService>['setWorkspacePlan'] {
  return async ({ workspaceId, plan }, context) => {
    const workspace = await inTransaction(pool, async (tx) => {
      if (plan !== '') found((await planExists(tx, plan)) || undefined, 'plan', plan);
      const locked = await lockWorkspace(tx, workspaceId);
      const before = found(locked?.deletionStartedAt ? undefined : locked, 'workspace', workspaceId);
      const after = await setPlan(tx, workspaceId, plan || undefined);
      await appendAudit(tx, context, [workspacePlanSet(before, after)]);
      return after;
    });
    log.info({ workspace_id: workspaceId, plan }, 'workspace plan set');
    return { workspace: toWorkspaceMessage(workspace) };
  };
}

/** Assigns a plan to a locked workspace, or removes it. */
async function setPlan(tx: Queryable, id: string, plan: string | undefined): Promise<Workspace> {
  const { rows } = await tx.query<WorkspaceRow>(
    `update auth.workspaces set plan = $2 where id = $1 and ${isLive} returning ${columns}`,
    [id, plan],
  );
  return toWorkspace(rows[0] as WorkspaceRow);
}
