import { RmsError } from '@rms/base/errors';
import { leastRoleFor, may } from '@rms/base/roles';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { type Handlers, userOfActor } from '@rms/rpc';
import { memberAdded } from '../member/member-audit.ts';
import { insertMembership, membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { findUser } from '../user/user-queries.ts';
import { makeWorkspace } from '../workspace/workspace.ts';
import { workspaceCreated } from '../workspace/workspace-audit.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { insertWorkspace } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

export function createWorkspace({ pool, log }: HandlerParts): Handlers<typeof WorkspacesService>['createWorkspace'] {
  return async ({ name, ownerUserId }, context) => {
    const workspace = makeWorkspace(name);
    const userId = userOfActor(context.actor);
    await inTransaction(pool, async (tx) => {
      if (userId !== undefined) {
        const memberships = await membershipsOf(tx, [userId]);
        const mayCreate = memberships.some(({ role }) => may(role, 'workspaces:create'));
        if (userId !== ownerUserId || !mayCreate) {
          const message = `The role ${leastRoleFor('workspaces:create')} in a workspace is required, and you must become the owner.`;
          throw new RmsError('insufficient_role', { message });
        }
      }
      await insertWorkspace(tx, workspace);
      const changes = [workspaceCreated(workspace)];
      if (ownerUserId !== '') {
        const owner = found(await findUser(tx, ownerUserId), 'user', ownerUserId);
        await insertMembership(tx, { workspaceId: workspace.id, userId: owner.id, role: 'owner' });
        changes.push(memberAdded(workspace.id, owner, 'owner'));
      }
      await appendAudit(tx, context, changes);
    });
    log.info({ workspace_id: workspace.id }, 'workspace created');
    return { workspace: toWorkspaceMessage(workspace) };
  };
}
