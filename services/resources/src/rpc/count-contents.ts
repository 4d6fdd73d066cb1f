import { checkWorkspaceId } from '@rms/postgres/workspace-deletion';
import type { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { countResources } from '../resource/count-queries.ts';
import type { WriteParts } from './parts.ts';

/** Counts a workspace's resources in both environments. */
export function countContents({
  pool,
}: Pick<WriteParts, 'pool'>): Handlers<typeof WorkspaceDeletionService>['countContents'] {
  return async ({ workspaceId }) => {
    checkWorkspaceId(workspaceId);
    return { counts: { resources: await countResources(pool, workspaceId) } };
  };
}
