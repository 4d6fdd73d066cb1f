import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { membershipsOf } from '../member/member-queries.ts';
import { makePassword } from '../password/password.ts';
import { found } from '../refusals.ts';
import { deleteSecondFactor } from '../second-factor/second-factor-queries.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { emailKeyOf } from '../user/email.ts';
import { userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUserByEmail, lockUser, setPassword } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function resetUser({ pool, passwords, log }: HandlerParts): Handlers<typeof UsersService>['resetUser'] {
  return async (request, context) => {
    const password = makePassword();
    const passwordHash = await passwords.hash(password, context.clientAddress);
    const user = await inTransaction(pool, async (tx) => {
      const id = request.id || (await findUserByEmail(tx, emailKeyOf(request.email)))?.id || '';
      const before = found(await lockUser(tx, id), 'user', request.id || request.email);
      const removed = request.removeSecondFactor && before.hasSecondFactor;
      if (removed) await deleteSecondFactor(tx, id);
      const user = await setPassword(tx, id, passwordHash);
      const entries = userEntries(user, await membershipsOf(tx, [id]), {
        action: 'user.reset',
        changes: userChanges(before, user),
        details: { second_factor: removed ? 'removed' : 'kept' },
      });
      await appendAudit(tx, context, [...entries, ...(await endWithCredentials(tx, user))]);
      return user;
    });
    log.info({ user_id: user.id }, 'user reset');
    return { user: toUserMessage(user), password };
  };
}
