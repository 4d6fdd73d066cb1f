import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { listIdentities } from '../identity/identity-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { emailKeyOf } from '../user/email.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { findUser, findUserByEmail } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function getUser({ pool }: HandlerParts): Handlers<typeof UsersService>['getUser'] {
  return async ({ id: given, email }, context) => {
    selfOnly(context, given);
    const known = given ? await findUser(pool, given) : await findUserByEmail(pool, emailKeyOf(email));
    const user = found(known, 'user', given || email);
    const [memberships, identities] = await Promise.all([
      membershipsOf(pool, [user.id]),
      listIdentities(pool, user.id),
    ]);
    return {
      user: toUserMessage(user),
      memberships: memberships.map(toMembershipMessage),
      identities: identities.map(({ linkedAt, ...one }) => ({ ...one, linkTime: timestampFromDate(linkedAt) })),
    };
  };
}
