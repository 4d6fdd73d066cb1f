import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { listAllWorkspaces } from '../workspace/workspace-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

export function listWorkspaces({ pool }: HandlerParts): Handlers<typeof WorkspacesService>['listWorkspaces'] {
  return () => translated(async () => ({ workspaces: (await listAllWorkspaces(pool)).map(toWorkspaceMessage) }));
}
