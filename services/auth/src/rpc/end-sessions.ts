import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { userChanges } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { lockUser, endSessions as writeEnd } from '../user/user-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

export function endSessions({ pool }: HandlerParts): Handlers<typeof UsersService>['endSessions'] {
  return ({ id }, context) =>
    translated(() =>
      inTransaction(pool, async (tx) => {
        selfOnly(context, id);
        found(await lockUser(tx, id), 'user', id);
        const user = await writeEnd(tx, id);
        await appendAudit(tx, context, userChanges(id, await membershipsOf(tx, [id]), 'user.sessions_ended'));
        return { user: toUserMessage(user) };
      }),
    );
}
