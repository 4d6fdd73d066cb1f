import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { checkName, type User } from '../user/user.ts';
import { userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { changeUser, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Changes the fields that are set. */
export function updateUser({ pool }: HandlerParts): Handlers<typeof UsersService>['updateUser'] {
  return ({ id, name }, context) =>
    inTransaction(pool, async (tx) => {
      selfOnly(context, id);
      const user = found(await lockUser(tx, id), 'user', id);
      if (name === undefined || name === user.name) return { user: toUserMessage(user) };
      const updated = await setName(tx, id, checkName(name));
      const entries = userEntries(updated, await membershipsOf(tx, [id]), {
        action: 'user.updated',
        changes: userChanges(user, updated),
      });
      await appendAudit(tx, context, entries);
      return { user: toUserMessage(updated) };
    });
}

async function setName(tx: Queryable, id: string, name: string): Promise<User> {
  return changeUser(tx, 'name = $2', [id, name]);
}
