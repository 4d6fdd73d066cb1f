import { RmsError } from '@rms/errors';
import { type Membership, Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { may, type Permission, type Role } from '@rms/roles';
import { type EnumNames, enumNames } from '@rms/rpc';

export const environments = enumNames(Environment);
export type EnvironmentName = (typeof environments.names)[number];
const roles: EnumNames<Role, RoleMessage> = enumNames(RoleMessage);

/**
 * The one place that lets a person into a workspace. Throws `not_found` for a workspace that they are no member of, as
 * for one that does not exist, and `insufficient_role`.
 */
export function checkTenant(
  memberships: readonly Membership[],
  { workspace, environment }: { readonly workspace: string; readonly environment: string },
  permission: Permission,
) {
  const membership = memberships.find(({ workspaceId }) => workspaceId === workspace);
  const place = environments.names.find((name) => name === environment);
  const role = membership && roleOf(membership);
  if (!membership || role === undefined || place === undefined) throw new RmsError('not_found');
  if (!may(role, permission)) throw new RmsError('insufficient_role');
  return { tenant: { workspaceId: membership.workspaceId, environment: environments.toValue(place) }, role };
}

export function roleOf({ role }: { readonly role: RoleMessage }): Role | undefined {
  return roles.toName(role);
}

/** As the services name it. */
export function toRoleMessage(role: Role): RoleMessage {
  return roles.toValue(role);
}
