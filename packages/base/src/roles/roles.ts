/** Roles of members of a workspace, in ascending order; each includes the previous roles' permissions. */
export const roles = ['viewer', 'developer', 'admin', 'owner'] as const;

/** Role of a member in a workspace. */
export type Role = (typeof roles)[number];

/**
 * Permission table: the least role per permission. The same in both environments. The dashboard's back end checks it
 * before every call, its pages use it to choose the visible controls, and auth checks it for operations on members.
 */
const leastRole = {
  'overview.read': 'viewer',
  'resources.read': 'viewer',
  'webhooks.read': 'viewer',
  'deliveries.read': 'viewer',
  'requests.read': 'viewer',
  'alerts.read': 'viewer',
  'limits.read': 'viewer',
  'members.read': 'viewer',

  'resources.write': 'developer',
  'webhooks.write': 'developer',
  /** Redeliver, replay, send test events. */
  'deliveries.send': 'developer',
  'keys.read': 'developer',
  'keys.write': 'developer',

  /** Create and roll keys of scope `admin`, which may read the audit log; see {@link permissionToCreateKey}. */
  'keys.admin': 'admin',
  'alerts.write': 'admin',
  'audit.read': 'admin',
  /** Invite, change and remove members. Only owners manage owners; see {@link mayChangeRole}. */
  'members.write': 'admin',

  /** Create further workspaces. */
  'workspaces.create': 'owner',
} as const satisfies Record<string, Role>;

/** A permission that some roles lack. */
export type Permission = keyof typeof leastRole;

/** All permissions, in the table's order. */
export const permissions = Object.keys(leastRole) as readonly Permission[];

/** Returns whether a role has a permission. Without a role (not a member), no permission is granted. */
export function may(role: Role | undefined, permission: Permission): boolean {
  return role !== undefined && rank(role) >= rank(leastRole[permission]);
}

/** Returns the least role that has a permission. */
export function leastRoleFor(permission: Permission): Role {
  return leastRole[permission];
}

/**
 * Returns the permission to create or roll a key with a scope. No endpoint of the scope may permit more than the roles
 * that have it.
 */
export function permissionToCreateKey(scope: 'read' | 'write' | 'admin'): Permission {
  return scope === 'admin' ? 'keys.admin' : 'keys.write';
}

/** Returns all permissions of a role. */
export function permissionsOf(role: Role | undefined): Permission[] {
  return permissions.filter((permission) => may(role, permission));
}

/**
 * Returns whether a member with role `actor` may change another member's role from `from` to `to`. Members cannot grant
 * or revoke a role higher than their own.
 * @param from undefined: not a member yet
 * @param to undefined: the member is removed
 */
export function mayChangeRole(actor: Role | undefined, from: Role | undefined, to: Role | undefined): boolean {
  if (actor === undefined || !may(actor, 'members.write')) return false;
  return [from, to].every((role) => role === undefined || rank(role) <= rank(actor));
}

function rank(role: Role): number {
  return roles.indexOf(role);
}
