import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { memberAdded } from '../member/member-audit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { makePassword } from '../password/password.ts';
import { checkEmail } from '../user/email.ts';
import { makeUser } from '../user/user.ts';
import { userCreated } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { insertUser, lockAnyUser } from '../user/user-queries.ts';
import { listWorkspaces } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Creates the first user. A table lock serializes concurrent first starts, so only one user is created. */
export function bootstrapUser({ pool, passwords }: HandlerParts): Handlers<typeof UsersService>['bootstrapUser'] {
  return async ({ email }, context) => {
    const password = makePassword();
    const user = makeUser(checkEmail(email), '', await passwords.hash(password));
    const created = await inTransaction(pool, async (tx) => {
      if (await lockAnyUser(tx)) return false;
      const [first] = await listWorkspaces(tx, { after: '', limit: 1 });
      if (!first) return false;
      await insertUser(tx, user);
      await insertMembership(tx, { workspaceId: first.id, userId: user.id, role: 'owner' });
      await appendAudit(tx, context, [userCreated(first.id, user), memberAdded(first.id, user, 'owner')]);
      return true;
    });
    return created ? { created, user: toUserMessage(user), password } : { created };
  };
}
