import { checkWorkspaceId } from '@rms/postgres/workspace-deletion';
import type { WorkspaceDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { maxCounted } from '../delivery/selection-queries.ts';
import { countWebhooks } from '../webhook/webhook-queries.ts';
import type { HandlerParts } from './parts.ts';

/** Counts a workspace's webhooks in both environments. */
export function countContents({
  pool,
}: Pick<HandlerParts, 'pool'>): Handlers<typeof WorkspaceDeletionService>['countContents'] {
  return async ({ workspaceId }) => {
    checkWorkspaceId(workspaceId);
    return { counts: { webhooks: BigInt(await countWebhooks(pool, workspaceId, maxCounted)) } };
  };
}
