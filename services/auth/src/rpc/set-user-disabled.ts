import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { deleteEmailChanges } from '../email-change/email-change-queries.ts';
import { operatorsOnly } from '../member/acting.ts';
import { lockOwned, membershipsOf } from '../member/member-queries.ts';
import { deleteResets } from '../password/reset-queries.ts';
import { emailKeyOf } from '../user/email.ts';
import { userChanges } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUserByEmail, lockUser, setDisabled } from '../user/user-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

export function setUserDisabled({ pool, log }: HandlerParts): Handlers<typeof UsersService>['setUserDisabled'] {
  return ({ id: given, email, disabled }, context) =>
    translated(async () => {
      operatorsOnly(context);
      const user = await inTransaction(pool, async (tx) => {
        const id = given || (await findUserByEmail(tx, emailKeyOf(email)))?.id || '';
        if (disabled) await lockOwned(tx, id);
        const before = found(await lockUser(tx, id), 'user', given || email);
        if ((before.disabledAt !== undefined) === disabled) return before;
        await deleteResets(tx, id);
        await deleteEmailChanges(tx, id);
        const action = disabled ? 'user.disabled' : 'user.enabled';
        await appendAudit(tx, context, userChanges(id, await membershipsOf(tx, [id]), action));
        return setDisabled(tx, id, disabled);
      });
      log.info({ user_id: user.id, disabled }, 'user disabled or enabled');
      return { user: toUserMessage(user) };
    });
}
