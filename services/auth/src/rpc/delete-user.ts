import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { type Handlers, userOfActor } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { holdRevoked, revokeKeysBy } from '../key/revoke.ts';
import { selfOnly } from '../member/acting.ts';
import { lockOwned, membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { endPending } from '../sign-in/end-pending.ts';
import { proveSelf } from '../sign-in/prove-self.ts';
import { emailKeyOf } from '../user/email.ts';
import { userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, findUserByEmail, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Deletes a user. Keys that the user created belong to the workspace and remain, unless `revokeKeys` is set. */
export function deleteUser(parts: HandlerParts): Handlers<typeof UsersService>['deleteUser'] {
  const { pool, log } = parts;
  return async ({ id: given, email, proof, revokeKeys }, context) => {
    const isUser = userOfActor(context.actor) !== undefined;
    if (isUser) selfOnly(context, given);
    if (isUser && revokeKeys) throw new RmsError('insufficient_role');
    const known = given ? await findUser(pool, given) : await findUserByEmail(pool, emailKeyOf(email));
    const { id } = found(known, 'user', given || email);
    if (isUser && known) await proveSelf(parts, known, proof, context);
    const { user, keys } = await inTransaction(pool, async (tx) => {
      await lockOwned(tx, id);
      const user = found(await lockUser(tx, id), 'user', given || email);
      await notifyOfChange(tx, parts, user, Change.ACCOUNT_DELETED, context);
      const memberships = await membershipsOf(tx, [id]);
      const entries = userEntries(user, memberships, {
        action: 'user.deleted',
        changes: userChanges(user, undefined),
      });
      await appendAudit(tx, context, [...entries, ...(await endPending(tx, id))]);
      const workspaceIds = memberships.map(({ workspaceId }) => workspaceId);
      const keys = revokeKeys ? await revokeKeysBy(tx, { userId: id, workspaceIds }, context) : [];
      await deleteRows(tx, id);
      return { user, keys };
    });
    log.info({ user_id: id }, 'user deleted');
    await holdRevoked(parts, keys);
    return { user: toUserMessage(user), revokedKeys: keys.map((key) => toKeyMessage(key)) };
  };
}

/** Deletes a user and all rows that belong only to the user. */
async function deleteRows(tx: Queryable, id: string): Promise<void> {
  const tables = ['memberships', 'known_networks', 'password_resets', 'recovery_codes', 'identities', 'email_changes'];
  for (const table of tables) await tx.query(`delete from auth.${table} where user_id = $1`, [id]);
  await tx.query('delete from auth.users where id = $1', [id]);
}
