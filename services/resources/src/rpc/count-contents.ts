import type { Queryable } from '@rms/postgres/db';
import { checkWorkspaceId } from '@rms/postgres/workspace-deletion';
import type { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import type { WriteParts } from './parts.ts';

/** Counts a workspace's resources in both environments. */
export function countContents({ pool }: WriteParts): Handlers<typeof WorkspaceDeletionService>['countContents'] {
  return async ({ workspaceId }) => {
    checkWorkspaceId(workspaceId);
    return { counts: { resources: await countResources(pool, workspaceId) } };
  };
}

/** Returns the number of resources of a workspace, in both environments. */
async function countResources(db: Queryable, workspaceId: string): Promise<bigint> {
  const { rows } = await db.query<{ count: string }>(
    `select coalesce(sum(count), 0) as count from resources.resource_counts
      where workspace_id = $1 and environment in ('live', 'sandbox')`,
    [workspaceId],
  );
  return BigInt(rows[0]?.count ?? 0);
}
