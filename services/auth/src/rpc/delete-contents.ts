import { deleteContents as deleteRows } from '@rms/postgres/workspace-deletion';
import type { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { contents, notBegun } from '../deletion/contents.ts';
import { workspaceExists } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Deletes rows of a workspace that is being deleted. */
export function deleteContents({ pool }: HandlerParts): Handlers<typeof WorkspaceDeletionService>['deleteContents'] {
  return async (request) => {
    if (await workspaceExists(pool, request.workspaceId)) throw notBegun();
    return deleteRows({ pool, contents }, request);
  };
}
