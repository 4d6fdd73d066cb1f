/** Roles of members of a workspace, in ascending order; each includes the previous roles' permissions. */
export const roles = ['viewer', 'developer', 'admin', 'owner'] as const;

/** Role of a member in a workspace. */
export type Role = (typeof roles)[number];

/** Scopes of API keys, in ascending order; each includes the permissions of the previous scopes. */
export const scopes = ['read', 'write', 'admin'] as const;

export type Scope = (typeof scopes)[number];

/** All scopes of API keys. A restricted key has the permissions that it lists. */
export const keyScopes = [...scopes, 'restricted'] as const;

export type KeyScope = (typeof keyScopes)[number];

interface Grant {
  /** The least role with the permission. */
  readonly role: Role;
  /** The least scope of an API key with the permission; undefined: no API key has it. */
  readonly scope?: Scope;
  /** Whether a restricted key can have the permission. */
  readonly restricted?: true;
}

/**
 * Permission table. Each endpoint requires one permission, of the role of a user and of an API key alike, in both
 * environments. The gateway and the dashboard's back end check it before every call, the dashboard's pages use it to
 * choose the visible controls, and auth checks it for operations on keys and members.
 */
const grants = {
  'metrics:read': { role: 'viewer', scope: 'admin', restricted: true },
  'resources:read': { role: 'viewer', scope: 'read', restricted: true },
  'events:read': { role: 'viewer', scope: 'read', restricted: true },
  'webhooks:read': { role: 'viewer', scope: 'admin', restricted: true },
  'deliveries:read': { role: 'viewer', scope: 'admin', restricted: true },
  'requests:read': { role: 'viewer', scope: 'admin', restricted: true },
  'workspace:read': { role: 'viewer', scope: 'admin', restricted: true },
  'alerts:read': { role: 'viewer', scope: 'admin', restricted: true },
  'members:read': { role: 'viewer' },

  'resources:write': { role: 'developer', scope: 'write', restricted: true },
  'webhooks:write': { role: 'developer', scope: 'admin', restricted: true },
  /** Redeliver, cancel, replay, send test events. */
  'deliveries:write': { role: 'developer', scope: 'admin', restricted: true },
  'keys:read': { role: 'developer', scope: 'admin', restricted: true },
  /** Create and roll keys with the permissions of the role, except those of scope `admin`; change and revoke keys. */
  'keys:write': { role: 'developer', scope: 'admin' },

  /** Create and roll keys of scope `admin`, which may read the audit log. */
  'keys:admin': { role: 'admin', scope: 'admin' },
  'alerts:write': { role: 'admin', scope: 'admin', restricted: true },
  'audit:read': { role: 'admin', scope: 'admin', restricted: true },
  /** Invite, change and remove members. Only owners manage owners; see {@link mayChangeRole}. */
  'members:write': { role: 'admin' },

  /** Create further workspaces. */
  'workspaces:create': { role: 'owner' },
} as const satisfies Record<string, Grant>;

/** A permission that some roles lack. */
export type Permission = keyof typeof grants;

/** A permission that a restricted key can have. */
export type KeyPermission = {
  [name in Permission]: (typeof grants)[name] extends { readonly restricted: true } ? name : never;
}[Permission];

/** All permissions, in the order of the table. */
export const permissions = Object.keys(grants) as readonly Permission[];

/** The permissions that a restricted key can have, by name. */
export const keyPermissions = permissions
  .filter((name): name is KeyPermission => grantOf(name).restricted === true)
  .sort();

function grantOf(permission: Permission): Grant {
  return grants[permission];
}

/** Returns whether a role has a permission. Without a role (not a member), no permission is granted. */
export function may(role: Role | undefined, permission: Permission): boolean {
  return role !== undefined && rank(role) >= rank(leastRoleFor(permission));
}

/** Returns the least role that has a permission. */
export function leastRoleFor(permission: Permission): Role {
  return grants[permission].role;
}

/** Returns the least scope of an API key that has a permission; undefined: no API key has it. */
export function leastScopeFor(permission: Permission): Scope | undefined {
  return grantOf(permission).scope;
}

/** What an API key may do. */
export interface KeyGrant {
  readonly scope: KeyScope;
  /** The permissions of a restricted key; otherwise empty. */
  readonly permissions: readonly KeyPermission[];
}

/** Returns whether an API key has a permission. The permission to write includes the permission to read. */
export function keyMay({ scope, permissions }: KeyGrant, permission: Permission): boolean {
  if (scope === 'restricted') {
    const including: readonly string[] = [permission, permission.replace(/:read$/, ':write')];
    return permissions.some((granted) => including.includes(granted));
  }
  const least = leastScopeFor(permission);
  return least !== undefined && scopes.indexOf(scope) >= scopes.indexOf(least);
}

/**
 * Returns the permissions that a user needs to create or roll an API key: a key must not permit more than the role of
 * its creator.
 */
export function permissionsToCreateKey({ scope, permissions }: KeyGrant): readonly Permission[] {
  return [scope === 'admin' ? 'keys:admin' : 'keys:write', ...permissions];
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
  if (actor === undefined || !may(actor, 'members:write')) return false;
  return [from, to].every((role) => role === undefined || rank(role) <= rank(actor));
}

function rank(role: Role): number {
  return roles.indexOf(role);
}
