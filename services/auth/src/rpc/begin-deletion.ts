import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { countContents } from '../deletion/count-contents.ts';
import { deleteInvitationsOf } from '../invitation/invitation-queries.ts';
import { revokeKeysOf } from '../key/revoke.ts';
import { deleteMembersOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { workspaceDeletionStarted } from '../workspace/workspace-audit.ts';
import { lockWorkspace } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Marks a workspace as being deleted and removes everything that gives access to it. Methods that add keys, members or
 * invitations lock the workspace, so none is added afterwards.
 */
export function beginDeletion(parts: HandlerParts): Handlers<typeof WorkspaceDeletionService>['beginDeletion'] {
  const { pool, log } = parts;
  return async ({ workspaceId, onlyIfEmpty }, context) => {
    const isFirst = await inTransaction(pool, async (tx) => {
      const workspace = found(await lockWorkspace(tx, workspaceId), 'workspace', workspaceId);
      const counts = await countContents(tx, workspaceId);
      if (onlyIfEmpty && Object.values(counts).some((count) => count > 0)) {
        throw new RmsError('conflict', { message: 'The workspace has keys, members or invitations.' });
      }
      if (workspace.deletionStartedAt) return false;
      await setDeleting(tx, workspaceId);
      await deleteInvitationsOf(tx, workspaceId);
      await deleteMembersOf(tx, workspaceId);
      await appendAudit(tx, context, [workspaceDeletionStarted(workspace, counts)]);
      return true;
    });
    await revokeKeysOf(parts, workspaceId);
    if (isFirst) log.info({ workspace_id: workspaceId }, 'workspace deletion started');
    return {};
  };
}

/** Marks a workspace as being deleted. */
async function setDeleting(tx: Queryable, id: string): Promise<void> {
  await tx.query('update auth.workspaces set deletion_started_at = now() where id = $1', [id]);
}
