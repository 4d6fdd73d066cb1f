import type { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { membershipsOf } from '../member/member-queries.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function checkSession({ pool }: HandlerParts): Handlers<typeof SignInService>['checkSession'] {
  return async ({ userId, sessionGeneration }) => {
    const [user, memberships] = await Promise.all([findUser(pool, userId), membershipsOf(pool, [userId])]);
    if (!user || BigInt(user.sessionGeneration) !== sessionGeneration) return { valid: false };
    return { valid: true, user: toUserMessage(user), memberships: memberships.map(toMembershipMessage) };
  };
}
