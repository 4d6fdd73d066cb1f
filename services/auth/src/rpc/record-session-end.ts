import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found, invalid } from '../refusals.ts';
import { userEntries } from '../user/user-audit.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Appends the audit entries of a session that its user ends. The dashboard stores the session, and ends it. */
export function recordSessionEnd({ pool }: HandlerParts): Handlers<typeof UsersService>['recordSessionEnd'] {
  return ({ id, endedId, signsOut }, context) =>
    inTransaction(pool, async (tx) => {
      selfOnly(context, id);
      if (!/^ses_\w{1,60}$/.test(endedId)) throw invalid('ended_id', 'is not the ID of a session');
      const user = found(await findUser(tx, id), 'user', id);
      const action = signsOut ? 'user.signed_out' : 'user.session_ended';
      const entries = userEntries(user, await membershipsOf(tx, [id]), { action, details: { ended: endedId } });
      await appendAudit(tx, context, entries);
      return {};
    });
}
