import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { lockOwned, membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { emailKeyOf } from '../user/email.ts';
import type { User } from '../user/user.ts';
import { userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { changeUser, findUserByEmail, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function setUserDisabled({ pool, log }: HandlerParts): Handlers<typeof UsersService>['setUserDisabled'] {
  return async ({ id: given, email, disabled }, context) => {
    const user = await inTransaction(pool, async (tx) => {
      const id = given || (await findUserByEmail(tx, emailKeyOf(email)))?.id || '';
      if (disabled) await lockOwned(tx, id);
      const before = found(await lockUser(tx, id), 'user', given || email);
      if ((before.disabledAt !== undefined) === disabled) return before;
      const user = await setDisabled(tx, id, disabled);
      const entries = userEntries(user, await membershipsOf(tx, [id]), {
        action: disabled ? 'user.disabled' : 'user.enabled',
        changes: userChanges(before, user),
      });
      await appendAudit(tx, context, [...entries, ...(await endWithCredentials(tx, user))]);
      return user;
    });
    log.info({ user_id: user.id, disabled }, disabled ? 'user disabled' : 'user enabled');
    return { user: toUserMessage(user) };
  };
}

/** Disables or enables a user and ends all sessions. */
async function setDisabled(tx: Queryable, id: string, disabled: boolean): Promise<User> {
  const since = disabled ? 'coalesce(disabled_at, now())' : 'null';
  return changeUser(tx, `disabled_at = ${since}, session_generation = session_generation + 1`, [id]);
}
