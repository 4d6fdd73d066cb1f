import { checkWorkspaceId } from '@rms/postgres/workspace-deletion';
import type { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { countContents as readCounts } from '../deletion/count-contents.ts';
import type { HandlerParts } from './handler.ts';

/** Counts the valid keys, members and open invitations of a workspace. */
export function countContents({ pool }: HandlerParts): Handlers<typeof WorkspaceDeletionService>['countContents'] {
  return async ({ workspaceId }) => {
    checkWorkspaceId(workspaceId);
    const counts = await readCounts(pool, workspaceId);
    return { counts: Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, BigInt(count)])) };
  };
}
