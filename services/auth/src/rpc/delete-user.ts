import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { type Handlers, userOfActor } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { selfOnly } from '../member/acting.ts';
import { lockOwned, membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { endPending } from '../sign-in/end-pending.ts';
import { proveSelf } from '../sign-in/prove-self.ts';
import { emailKeyOf } from '../user/email.ts';
import { userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { deleteUser as deleteRows, findUser, findUserByEmail, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Deletes a user. Keys that the user created belong to the workspace and remain. */
export function deleteUser(parts: HandlerParts): Handlers<typeof UsersService>['deleteUser'] {
  const { pool, log } = parts;
  return async ({ id: given, email, proof }, context) => {
    const isUser = userOfActor(context.actor) !== undefined;
    if (isUser) selfOnly(context, given);
    const known = given ? await findUser(pool, given) : await findUserByEmail(pool, emailKeyOf(email));
    const { id } = found(known, 'user', given || email);
    if (isUser && known) await proveSelf(parts, known, proof, context);
    const user = await inTransaction(pool, async (tx) => {
      await lockOwned(tx, id);
      const user = found(await lockUser(tx, id), 'user', given || email);
      await notifyOfChange(tx, parts, user, Change.ACCOUNT_DELETED, context);
      const entries = userEntries(user, await membershipsOf(tx, [id]), {
        action: 'user.deleted',
        changes: userChanges(user, undefined),
      });
      await appendAudit(tx, context, [...entries, ...(await endPending(tx, id))]);
      await deleteRows(tx, id);
      return user;
    });
    log.info({ user_id: id }, 'user deleted');
    return { user: toUserMessage(user) };
  };
}
