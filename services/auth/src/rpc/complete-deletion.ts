import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { notBegun } from '../deletion/contents.ts';
import { found } from '../refusals.ts';
import { workspaceDeleted } from '../workspace/workspace-audit.ts';
import { lockWorkspace } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Deletes the workspace itself. Fails if it still has keys, members or invitations. */
export function completeDeletion({
  pool,
  log,
}: HandlerParts): Handlers<typeof WorkspaceDeletionService>['completeDeletion'] {
  return async ({ workspaceId, deleted }, context) => {
    const rows = Object.fromEntries(Object.entries(deleted).map(([table, count]) => [table, Number(count)]));
    await inTransaction(pool, async (tx) => {
      const workspace = found(await lockWorkspace(tx, workspaceId), 'workspace', workspaceId);
      if (!workspace.deletionStartedAt) throw notBegun();
      await deleteWorkspace(tx, workspaceId);
      await appendAudit(tx, context, workspaceDeleted(workspace, rows));
    });
    log.info({ workspace_id: workspaceId }, 'workspace deleted');
    return {};
  };
}

/** Deletes a workspace without contents. */
async function deleteWorkspace(tx: Queryable, id: string): Promise<void> {
  await tx.query('delete from auth.workspaces where id = $1', [id]);
}
