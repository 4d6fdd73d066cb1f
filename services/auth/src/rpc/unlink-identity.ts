import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { type Handlers, userOfActor } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { identityUnlinked } from '../identity/identity-audit.ts';
import { deleteIdentities } from '../identity/identity-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { endPending } from '../sign-in/end-pending.ts';
import { proveSelf } from '../sign-in/prove-self.ts';
import { emailKeyOf } from '../user/email.ts';
import { userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { endSessions, findUser, findUserByEmail, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function unlinkIdentity(parts: HandlerParts): Handlers<typeof UsersService>['unlinkIdentity'] {
  const { pool, log } = parts;
  return async ({ id: given, email, issuer, proof }, context) => {
    const isUser = userOfActor(context.actor) !== undefined;
    if (isUser) selfOnly(context, given);
    const known = given ? await findUser(pool, given) : await findUserByEmail(pool, emailKeyOf(email));
    const { id } = found(known, 'user', given || email);
    if (isUser && known) await proveSelf(parts, known, proof, context);
    const user = await inTransaction(pool, async (tx) => {
      found(await lockUser(tx, id), 'user', given || email);
      const [unlinked] = await deleteIdentities(tx, id, issuer);
      const identity = found(unlinked, 'linked identity', issuer);
      const user = await endSessions(tx, id);
      await notifyOfChange(tx, parts, user, Change.IDENTITY_UNLINKED, context);
      const entries = userEntries(user, await membershipsOf(tx, [id]), identityUnlinked(identity));
      await appendAudit(tx, context, [...entries, ...(await endPending(tx, id))]);
      return user;
    });
    log.info({ user_id: id, issuer }, 'identity unlinked');
    return { user: toUserMessage(user) };
  };
}
