import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { memberAdded } from '../member/member-audit.ts';
import { checkMemberLimit } from '../member/member-limit.ts';
import { fromRoleMessage } from '../member/member-message.ts';
import { insertMembership } from '../member/member-queries.ts';
import { makePassword } from '../password/password.ts';
import { found } from '../refusals.ts';
import { checkEmail } from '../user/email.ts';
import { makeUser } from '../user/user.ts';
import { userCreated } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUserByEmail, insertUser } from '../user/user-queries.ts';
import { workspaceExists } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

export function createUser(parts: HandlerParts): Handlers<typeof UsersService>['createUser'] {
  const { pool, passwords, maxMembers, log } = parts;
  return async ({ email, name, workspaceId, role: roleMessage }, context) => {
    const address = checkEmail(email);
    const role = fromRoleMessage(roleMessage);
    const password = makePassword();
    const candidate = makeUser(address, name, await passwords.hash(password, context.clientAddress));
    const { user, created } = await inTransaction(pool, async (tx) => {
      found((await workspaceExists(tx, workspaceId)) || undefined, 'workspace', workspaceId);
      const created = await insertUser(tx, candidate);
      const user = created ? candidate : found(await findUserByEmail(tx, address.emailKey), 'user', address.email);
      if (!(await insertMembership(tx, { workspaceId, userId: user.id, role }))) {
        throw new RmsError('conflict', { message: `${user.email} is already a member of this workspace.` });
      }
      await checkMemberLimit(tx, workspaceId, maxMembers);
      await appendAudit(tx, context, [
        ...(created ? [userCreated(workspaceId, user)] : []),
        memberAdded(workspaceId, user, role),
      ]);
      return { user, created };
    });
    log.info({ workspace_id: workspaceId, user_id: user.id, role, created }, 'member added');
    return { user: toUserMessage(user), created, password: created ? password : '' };
  };
}
