import { type Membership, Role, type User } from '@rms/proto/rms/auth/v1/user_pb';
import { type Role as RoleName, roles } from '@rms/roles';
import { time } from './documents.ts';

const messages: Readonly<Record<RoleName, Role>> = {
  viewer: Role.VIEWER,
  developer: Role.DEVELOPER,
  admin: Role.ADMIN,
  owner: Role.OWNER,
};

export function toRole(name: RoleName): Role {
  return messages[name];
}

function roleName(role: Role): RoleName | null {
  return roles.find((name) => messages[name] === role) ?? null;
}

/** A user as `rms users …` prints it. */
export function userDocument({ id, email, name, createTime, lastSignInTime, hasSecondFactor, disableTime }: User) {
  return {
    id,
    email,
    name: name || null,
    created_at: time(createTime),
    last_sign_in_at: time(lastSignInTime),
    second_factor: hasSecondFactor,
    disabled_at: time(disableTime),
  };
}

/** Where a user is a member. */
export function membershipDocument({ workspaceId, workspaceName, role }: Membership) {
  return { id: workspaceId, name: workspaceName, role: roleName(role) };
}
