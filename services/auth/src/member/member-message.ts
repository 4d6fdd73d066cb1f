import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import type { Role } from '@rms/base/roles';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { Member } from './member.ts';

/** Converts a member to rms.auth.v1.Member. */
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
    version: BigInt(member.version),
  };
}

const roles: EnumNames<Role, RoleMessage> = enumNames(RoleMessage);

export function toRoleMessage(role: Role): RoleMessage {
  return roles.toValue(role);
}

/** Converts a role. Throws `invalid_request` for an unspecified one. */
export function fromRoleMessage(message: RoleMessage): Role {
  const role = roles.toName(message);
  if (role) return role;
  throw new RmsError('invalid_request', {
    details: [{ field: 'role', message: 'must be viewer, developer, admin or owner' }],
  });
}
