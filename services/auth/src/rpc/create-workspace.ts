import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeWorkspace } from '../workspace/workspace.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { insertWorkspace } from '../workspace/workspace-queries.ts';
import { type HandlerContext, translated } from './handler.ts';

export function createWorkspace({ pool, log }: HandlerContext): Handlers<typeof WorkspacesService>['createWorkspace'] {
  return ({ name }) =>
    translated(async () => {
      const workspace = makeWorkspace(name);
      await insertWorkspace(pool, workspace);
      log.info({ workspace_id: workspace.id }, 'workspace created');
      return { workspace: toWorkspaceMessage(workspace) };
    });
}
