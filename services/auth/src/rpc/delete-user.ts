import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, tellOfChange } from '../mail/security-mail.ts';
import { selfOnly } from '../member/acting.ts';
import { lockOwned, membershipsOf } from '../member/member-queries.ts';
import { proveSelf } from '../sign-in/prove-self.ts';
import { emailKeyOf } from '../user/email.ts';
import { userChanges, userOfActor } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { deleteUser as deleteRows, findUser, findUserByEmail, lockUser } from '../user/user-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

/** The keys that somebody has made are the workspace's, and stay. */
export function deleteUser(parts: HandlerParts): Handlers<typeof UsersService>['deleteUser'] {
  const { pool, box, log } = parts;
  return ({ id: given, email, proof }, context) =>
    translated(async () => {
      const isPerson = userOfActor(context.actor) !== undefined;
      if (isPerson) selfOnly(context, given);
      const known = given ? await findUser(pool, given) : await findUserByEmail(pool, emailKeyOf(email));
      const { id } = found(known, 'user', given || email);
      if (isPerson && known) await proveSelf(parts, known, proof, context);
      const user = await inTransaction(pool, async (tx) => {
        await lockOwned(tx, id);
        const user = found(await lockUser(tx, id), 'user', given || email);
        await tellOfChange(tx, box, user, Change.ACCOUNT_DELETED, context);
        await appendAudit(tx, context, userChanges(id, await membershipsOf(tx, [id]), 'user.deleted'));
        await deleteRows(tx, id);
        return user;
      });
      log.info({ user_id: id }, 'user deleted');
      return { user: toUserMessage(user) };
    });
}
