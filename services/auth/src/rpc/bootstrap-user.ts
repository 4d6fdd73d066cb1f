import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { operatorsOnly } from '../member/acting.ts';
import { memberAdded } from '../member/member-audit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { makePassword } from '../password/password.ts';
import { checkEmail } from '../user/email.ts';
import { makeUser } from '../user/user.ts';
import { toUserMessage } from '../user/user-message.ts';
import { insertUser, lockAnyUser } from '../user/user-queries.ts';
import { listAllWorkspaces } from '../workspace/workspace-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

/** Several first starts at once make one user: the table is locked while one of them looks and makes. */
export function bootstrapUser({ pool, passwords }: HandlerParts): Handlers<typeof UsersService>['bootstrapUser'] {
  return ({ email }, context) =>
    translated(async () => {
      operatorsOnly(context);
      const password = makePassword();
      const user = makeUser(checkEmail(email), '', await passwords.hash(password));
      const created = await inTransaction(pool, async (tx) => {
        if (await lockAnyUser(tx)) return false;
        const [first] = await listAllWorkspaces(tx);
        if (!first) return false;
        await insertUser(tx, user);
        await insertMembership(tx, { workspaceId: first.id, userId: user.id, role: 'owner' });
        await appendAudit(tx, context, [
          { workspaceId: first.id, action: 'user.created', targetId: user.id, details: { email: user.email } },
          memberAdded(first.id, user.id, 'owner'),
        ]);
        return true;
      });
      return created ? { created, user: toUserMessage(user), password } : { created };
    });
}
