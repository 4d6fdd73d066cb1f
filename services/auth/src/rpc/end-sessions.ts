import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { endPending } from '../sign-in/end-pending.ts';
import { userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { lockUser, endSessions as writeEnd } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function endSessions({ pool }: HandlerParts): Handlers<typeof UsersService>['endSessions'] {
  return ({ id }, context) =>
    inTransaction(pool, async (tx) => {
      selfOnly(context, id);
      found(await lockUser(tx, id), 'user', id);
      const user = await writeEnd(tx, id);
      const entries = userEntries(user, await membershipsOf(tx, [id]), { action: 'user.sessions_ended' });
      await appendAudit(tx, context, [...entries, ...(await endPending(tx, id))]);
      return { user: toUserMessage(user) };
    });
}
