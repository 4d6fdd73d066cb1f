import { timeOf } from '@rms/api/times';
import type { Role as RoleName } from '@rms/base/roles';
import { type Membership, Role, type User } from '@rms/proto/rms/auth/v1/user_pb';
import { type EnumNames, enumNames } from '@rms/rpc/enum-names';

export const roleNames: EnumNames<RoleName, Role> = enumNames(Role);

/** Returns a user for the output of `rms users …`. */
export function userDocument({ id, email, name, createTime, lastSignInTime, hasSecondFactor, disableTime }: User) {
  return {
    id,
    email,
    name: name || null,
    created_at: timeOf(createTime),
    last_sign_in_at: timeOf(lastSignInTime),
    second_factor: hasSecondFactor,
    disabled_at: timeOf(disableTime),
  };
}

/** Returns a user's membership in a workspace, for the output of `rms users …`. */
export function membershipDocument({ workspaceId, workspaceName, role }: Membership) {
  return { id: workspaceId, name: workspaceName, role: roleNames.toName(role) ?? null };
}
