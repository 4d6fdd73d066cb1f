import { RmsError } from '@rms/errors';
import { type Membership, Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { may, type Permission, type Role } from '@rms/roles';

const environments: Readonly<Record<string, Environment>> = {
  live: Environment.LIVE,
  sandbox: Environment.SANDBOX,
};

const roleNames: Readonly<Record<RoleMessage, Role | undefined>> = {
  [RoleMessage.UNSPECIFIED]: undefined,
  [RoleMessage.VIEWER]: 'viewer',
  [RoleMessage.DEVELOPER]: 'developer',
  [RoleMessage.ADMIN]: 'admin',
  [RoleMessage.OWNER]: 'owner',
};

export const environmentNames = ['live', 'sandbox'] as const;
export type EnvironmentName = (typeof environmentNames)[number];

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
  const place = Object.hasOwn(environments, environment) ? environments[environment] : undefined;
  const role = membership && roleOf(membership);
  if (!membership || role === undefined || place === undefined) throw new RmsError('not_found');
  if (!may(role, permission)) throw new RmsError('insufficient_role');
  return { tenant: { workspaceId: membership.workspaceId, environment: place }, role };
}

export function roleOf({ role }: { readonly role: RoleMessage }): Role | undefined {
  return roleNames[role];
}

/** As the services name it. */
export function toRoleMessage(role: Role): RoleMessage {
  const found = Object.entries(roleNames).find(([, name]) => name === role);
  return Number(found?.[0] ?? RoleMessage.UNSPECIFIED);
}
