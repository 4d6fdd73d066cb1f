import { RmsError } from '@rms/base/errors';
import { leastRoleFor, may, type Permission, type Role } from '@rms/base/roles';
import { environments, toEnvironmentMessage } from '@rms/base/tenant';
import { type Membership, Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { type EnumNames, enumNames } from '@rms/rpc';

const roles: EnumNames<Role, RoleMessage> = enumNames(RoleMessage);

/**
 * Checks that the user is a workspace member and that the role has the permission. This is the only such check.
 * Throws `not_found` if the workspace does not exist or the user is not a member, and `insufficient_role`.
 */
export function checkTenant(
  memberships: readonly Membership[],
  { workspace, environment }: { readonly workspace: string; readonly environment: string },
  permission: Permission,
) {
  const membership = memberships.find(({ workspaceId }) => workspaceId === workspace);
  const selected = environments.find((name) => name === environment);
  const role = membership && roleOf(membership);
  if (!membership || role === undefined || selected === undefined) {
    throw new RmsError('not_found', {
      message: 'There is no such workspace and environment, or you are not a member of the workspace.',
    });
  }
  if (!may(role, permission)) {
    const message = `The role ${leastRoleFor(permission)} is required; yours in this workspace is ${role}.`;
    throw new RmsError('insufficient_role', { message });
  }
  return { tenant: { workspaceId: membership.workspaceId, environment: toEnvironmentMessage(selected) }, role };
}

export function roleOf({ role }: { readonly role: RoleMessage }): Role | undefined {
  return roles.toName(role);
}

/** Converts a role to its RPC value. */
export function toRoleMessage(role: Role): RoleMessage {
  return roles.toValue(role);
}
