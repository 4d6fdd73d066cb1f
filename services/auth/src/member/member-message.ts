import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import type { Role } from '@rms/roles';
import type { Member } from './member.ts';

/** A member as rms.auth.v1.Member. */
export function toMemberMessage(member: Member) {
  return {
    userId: member.userId,
    email: member.email,
    name: member.name,
    role: toRoleMessage(member.role),
    createTime: timestampFromDate(member.createdAt),
    ...(member.lastSignInAt ? { lastSignInTime: timestampFromDate(member.lastSignInAt) } : {}),
    hasSecondFactor: member.hasSecondFactor,
    disabled: member.disabled,
  };
}

const messages = {
  viewer: RoleMessage.VIEWER,
  developer: RoleMessage.DEVELOPER,
  admin: RoleMessage.ADMIN,
  owner: RoleMessage.OWNER,
} as const satisfies Record<Role, RoleMessage>;

export function toRoleMessage(role: Role): RoleMessage {
  return messages[role];
}

/** A role; unspecified is refused. */
export function fromRoleMessage(message: RoleMessage): Role {
  for (const [role, known] of Object.entries(messages)) if (known === message) return role as Role;
  throw new RmsError('invalid_request', {
    details: [{ field: 'role', message: 'must be viewer, developer, admin or owner' }],
  });
}
