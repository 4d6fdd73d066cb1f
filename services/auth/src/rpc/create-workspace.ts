import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeWorkspace } from '../workspace/workspace.ts';
import { workspaceCreated } from '../workspace/workspace-audit.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { insertWorkspace } from '../workspace/workspace-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

export function createWorkspace({ pool, log }: HandlerParts): Handlers<typeof WorkspacesService>['createWorkspace'] {
  return ({ name }, context) =>
    translated(async () => {
      const workspace = makeWorkspace(name);
      await inTransaction(pool, async (tx) => {
        await insertWorkspace(tx, workspace);
        await appendAudit(tx, context, [workspaceCreated(workspace)]);
      });
      log.info({ workspace_id: workspace.id }, 'workspace created');
      return { workspace: toWorkspaceMessage(workspace) };
    });
}
