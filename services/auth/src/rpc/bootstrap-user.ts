import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { memberAdded } from '../member/member-audit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { makePassword } from '../password/password.ts';
import { checkEmail } from '../user/email.ts';
import { makeUser } from '../user/user.ts';
import { userCreated } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUserByEmail, insertUser } from '../user/user-queries.ts';
import { listWorkspaces } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Makes a user the first workspace's owner, unless any workspace has a member. Such a workspace is new, or was
 * created after the last one with members was deleted; users keep their accounts then. A table lock serializes
 * concurrent starts, so only one user is created.
 */
export function bootstrapUser({ pool, passwords }: HandlerParts): Handlers<typeof UsersService>['bootstrapUser'] {
  return async ({ email }, context) => {
    const password = makePassword();
    const made = makeUser(checkEmail(email), '', await passwords.hash(password, context.clientAddress));
    return inTransaction(pool, async (tx) => {
      await lockBootstrapOfUser(tx);
      const [workspace] = await listWorkspaces(tx, { after: '', limit: 1 });
      if (!workspace || (await hasMembers(tx))) return { created: false };
      const existing = await findUserByEmail(tx, made.emailKey);
      const user = existing ?? made;
      if (!existing) await insertUser(tx, user);
      await insertMembership(tx, { workspaceId: workspace.id, userId: user.id, role: 'owner' });
      await appendAudit(tx, context, [
        ...(existing ? [] : [userCreated(workspace.id, user)]),
        memberAdded(workspace.id, user, 'owner'),
      ]);
      return { created: !existing, user: toUserMessage(user), password: existing ? '' : password };
    });
  };
}

/** Returns whether any workspace has a member. */
async function hasMembers(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query('select from auth.memberships limit 1');
  return rowCount === 1;
}

/** Locks the table, so that one transaction at a time can create the first user. */
async function lockBootstrapOfUser(tx: Queryable): Promise<void> {
  await tx.query('lock table auth.users in share row exclusive mode');
}
