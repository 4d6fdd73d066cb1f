/** The roles of people in a workspace; each may do what those before it may. */
export const roles = ['viewer', 'developer', 'admin', 'owner'] as const;

/** What a person is in a workspace. */
export type Role = (typeof roles)[number];

/**
 * The one table of what each role may do: the least role for each thing. Both environments are alike. The dashboard's
 * back end asks it before every call; its pages ask it for what to show; auth asks it for what is about people.
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

  'alerts.write': 'admin',
  'audit.read': 'admin',
  /** Invite, change and remove members; owners are for owners, see {@link mayChangeRole}. */
  'members.write': 'admin',

  /** Make further workspaces. */
  'workspaces.create': 'owner',
} as const satisfies Record<string, Role>;

/** Something that not everybody may do. */
export type Permission = keyof typeof leastRole;

/** All permissions, in the order of the table. */
export const permissions = Object.keys(leastRole) as readonly Permission[];

/** Whether somebody with this role may do that; without a role (not a member) nobody may do anything. */
export function may(role: Role | undefined, permission: Permission): boolean {
  return role !== undefined && rank(role) >= rank(leastRole[permission]);
}

/** Everything that a role may do. */
export function permissionsOf(role: Role | undefined): Permission[] {
  return permissions.filter((permission) => may(role, permission));
}

/**
 * Whether somebody with role `actor` may make a member with role `from` one with role `to`. Nobody gives, or takes away,
 * more than they have themselves.
 * @param from undefined: not a member yet
 * @param to undefined: no member any more
 */
export function mayChangeRole(actor: Role | undefined, from: Role | undefined, to: Role | undefined): boolean {
  if (actor === undefined || !may(actor, 'members.write')) return false;
  return [from, to].every((role) => role === undefined || rank(role) <= rank(actor));
}

function rank(role: Role): number {
  return roles.indexOf(role);
}
