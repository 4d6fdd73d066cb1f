/** Roles of members of a workspace, in ascending order; each includes the previous roles' permissions. */
export const roles = ['viewer', 'developer', 'admin', 'owner'] as const;

/** Role of a member in a workspace. */
export type Role = (typeof roles)[number];

/** Scopes of API keys, in ascending order; each includes the previous scopes' permissions. */
export const scopes = ['read', 'write', 'admin'] as const;

export type Scope = (typeof scopes)[number];

/** All scopes of API keys. A restricted key has the permissions that it lists. */
export const keyScopes = [...scopes, 'restricted'] as const;

export type KeyScope = (typeof keyScopes)[number];

interface Grant {
  /** What the permission permits, as a verb phrase for forms and documents. */
  readonly permits: string;
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
  'metrics:read': {
    permits: 'read numbers of requests and deliveries over time',
    role: 'viewer',
    scope: 'admin',
    restricted: true,
  },
  'resources:read': { permits: 'read resources', role: 'viewer', scope: 'read', restricted: true },
  'events:read': { permits: 'read the event feed', role: 'viewer', scope: 'read', restricted: true },
  'webhooks:read': {
    permits: 'read webhooks and their health, without secrets',
    role: 'viewer',
    scope: 'admin',
    restricted: true,
  },
  'deliveries:read': {
    permits: 'read deliveries with their bodies and attempts, and replays',
    role: 'viewer',
    scope: 'admin',
    restricted: true,
  },
  'requests:read': { permits: 'read the request log and timelines', role: 'viewer', scope: 'admin', restricted: true },
  'workspace:read': {
    permits: 'read the workspace, its limits and its usage',
    role: 'viewer',
    scope: 'admin',
    restricted: true,
  },
  'alerts:read': {
    permits: 'read alert rules, alert channels and incidents',
    role: 'viewer',
    scope: 'admin',
    restricted: true,
  },
  'members:read': { permits: 'read members and invitations', role: 'viewer', scope: 'admin' },

  'resources:write': {
    permits: 'create, change and delete resources',
    role: 'developer',
    scope: 'write',
    restricted: true,
  },
  'webhooks:write': {
    permits: 'create, change and delete webhooks, and rotate their secrets',
    role: 'developer',
    scope: 'admin',
    restricted: true,
  },
  'deliveries:write': {
    permits: 'redeliver, cancel and replay deliveries, and send test events',
    role: 'developer',
    scope: 'admin',
    restricted: true,
  },
  'keys:read': { permits: 'read API keys, without their values', role: 'developer', scope: 'admin', restricted: true },
  /** Create and roll keys with the role's permissions, except those in scope `admin`; change and revoke keys. */
  'keys:write': { permits: 'create, change, roll and revoke API keys', role: 'developer', scope: 'admin' },

  /** Create and roll keys of scope `admin`, which may read the audit log. */
  'keys:admin': { permits: 'create and roll API keys of scope admin', role: 'admin', scope: 'admin' },
  /** Without it, the event feed has only events about resources. */
  'events:admin': { permits: 'read operational events in the event feed', role: 'admin', scope: 'admin' },
  'alerts:write': {
    permits: 'change alert rules and alert channels, acknowledge and mute incidents',
    role: 'admin',
    scope: 'admin',
    restricted: true,
  },
  'audit:read': {
    permits: 'read the audit log, with the values before and after a change',
    role: 'admin',
    scope: 'admin',
    restricted: true,
  },
  /** Invite, change and remove members. Only owners manage owners; see {@link mayChangeRole}. */
  'members:write': { permits: 'invite, change and remove members', role: 'admin', scope: 'admin' },

  /** Create further workspaces. */
  'workspaces:create': { permits: 'create workspaces', role: 'owner' },
} as const satisfies Record<string, Grant>;

/** A permission that some roles lack. */
export type Permission = keyof typeof grants;

/** A permission that a restricted key can have. */
export type KeyPermission = {
  [name in Permission]: (typeof grants)[name] extends { readonly restricted: true } ? name : never;
}[Permission];

/** All permissions, in table order. */
export const permissions = Object.keys(grants) as readonly Permission[];

/** The permissions that a restricted key can have, by name. */
export const keyPermissions = permissions
  .filter((name): name is KeyPermission => grantOf(name).restricted === true)
  .sort();

/** The permissions that a portal session can have. */
export const portalPermissions: readonly KeyPermission[] = [
  'webhooks:read',
  'webhooks:write',
  'deliveries:read',
  'deliveries:write',
];

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

/** Returns what a permission permits: "read resources". */
export function permits(permission: Permission): string {
  return grants[permission].permits;
}

/** Returns what an unrestricted scope permits in addition to the previous scope, in table order. */
export function permitsOfScope(scope: Scope): string[] {
  const added = permissions.filter((permission) => leastScopeFor(permission) === scope);
  const isIncluded = (permission: string) => added.some((other) => other === permission.replace(/:read$/, ':write'));
  return added.filter((name) => !name.endsWith(':read') || !isIncluded(name)).map(permits);
}

/** Returns the least scope of an API key that has a permission; undefined: no API key has it. */
export function leastScopeFor(permission: Permission): Scope | undefined {
  return grantOf(permission).scope;
}

/** What an API key may do. */
export interface KeyGrant {
  readonly scope: KeyScope;
  /** Permissions of a restricted key; otherwise empty. */
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
