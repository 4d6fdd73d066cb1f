import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { listIdentities } from '../identity/identity-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function getUser({ pool }: HandlerParts): Handlers<typeof UsersService>['getUser'] {
  return async ({ id }, context) => {
    selfOnly(context, id);
    const user = found(await findUser(pool, id), 'user', id);
    const [memberships, identities] = await Promise.all([membershipsOf(pool, [id]), listIdentities(pool, id)]);
    return { user: toUserMessage(user), memberships: memberships.map(toMembershipMessage), identities };
  };
}
