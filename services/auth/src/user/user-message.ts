import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Membership } from '../member/member.ts';
import { toRoleMessage } from '../member/member-message.ts';
import type { User } from './user.ts';

/** Converts a user to rms.auth.v1.User. */
export function toUserMessage(user: User) {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    createTime: timestampFromDate(user.createdAt),
    ...(user.lastSignInAt ? { lastSignInTime: timestampFromDate(user.lastSignInAt) } : {}),
    hasPassword: user.passwordHash !== undefined,
    hasSecondFactor: user.hasSecondFactor,
    sessionGeneration: BigInt(user.sessionGeneration),
    ...(user.disabledAt ? { disableTime: timestampFromDate(user.disabledAt) } : {}),
  };
}

/** Converts a membership to rms.auth.v1.Membership. */
export function toMembershipMessage({ workspaceId, workspaceName, role, createdAt }: Membership) {
  return { workspaceId, workspaceName, role: toRoleMessage(role), createTime: timestampFromDate(createdAt) };
}
