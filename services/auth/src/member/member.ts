import { RmsError } from '@rms/base/errors';
import { leastRoleFor, may, mayChangeRole, type Permission, type Role } from '@rms/base/roles';

/** A user's membership in a workspace. */
export interface Membership {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly userId: string;
  readonly role: Role;
  readonly createdAt: Date;
}

/** A member as shown to other members. */
export interface Member {
  readonly userId: string;
  readonly email: string;
  /** The address as members are sorted by it. */
  readonly emailKey: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly lastSignInAt: Date | undefined;
  readonly hasSecondFactor: boolean;
  /** A disabled user cannot sign in and does not count as an owner. */
  readonly disabled: boolean;
  /** Time of the last change of the role in milliseconds. Every change increases it. */
  readonly version: number;
}

/** Fields of a member that role changes depend on. */
export type MemberRole = Pick<Member, 'userId' | 'role' | 'disabled'>;

/**
 * The caller in a workspace: a user with a role there (undefined if not a member), or an operator with all permissions.
 */
export type Acting = 'operator' | ActingMember;

export interface ActingMember {
  /** undefined: an API key without a user. */
  readonly userId: string | undefined;
  readonly role: Role | undefined;
  /** Whether an API key acts for the user. */
  readonly byKey?: true;
}

/** Throws `insufficient_role` unless the caller has the permission; for an API key `insufficient_scope`. */
export function requirePermission(acting: Acting, permission: Permission): void {
  if (acting === 'operator' || may(acting.role, permission)) return;
  if (acting.byKey) {
    const message = `The user who created the API key must have the role ${leastRoleFor(permission)} in this workspace.`;
    throw new RmsError('insufficient_scope', { message });
  }
  const own = acting.role === undefined ? 'you are not a member of this workspace' : `yours is ${acting.role}`;
  throw new RmsError('insufficient_role', { message: `The role ${leastRoleFor(permission)} is required; ${own}.` });
}

/**
 * Throws `insufficient_role`, or `insufficient_scope` for an API key, unless the caller may change a member's role from
 * `from` to `to` (see mayChangeRole).
 */
export function requireRoleChange(acting: Acting, from: Role | undefined, to: Role | undefined): void {
  if (acting === 'operator' || mayChangeRole(acting.role, from, to)) return;
  if (acting.byKey) {
    throw new RmsError('insufficient_scope', { message: 'An API key cannot change owners or grant the role owner.' });
  }
  const message = 'Only admins and owners can change members. They cannot change or grant a role above their own.';
  throw new RmsError('insufficient_role', { message });
}

/**
 * Throws unless the caller may change the role of member `userId` or remove the member. Throws `not_found` for a user
 * who is not a member, `insufficient_role`, or `conflict` if no owner would remain. Every member may leave.
 * @param members all members of the workspace
 * @param to the new role; undefined removes the member
 */
export function checkRoleChange(
  members: readonly MemberRole[],
  acting: Acting,
  userId: string,
  to: Role | undefined,
): void {
  const from = members.find((member) => member.userId === userId)?.role;
  const isLeaving =
    acting !== 'operator' && !acting.byKey && acting.userId === userId && to === undefined && acting.role !== undefined;
  // A caller who may not list members must not learn who is a member.
  if (!isLeaving) requirePermission(acting, 'members:write');
  if (from === undefined) {
    throw new RmsError('not_found', { message: `There is no member "${userId}" in this workspace.` });
  }
  if (!isLeaving) requireRoleChange(acting, from, to);
  if (from === 'owner' && to !== 'owner') requireOtherOwner(members, userId);
}

/** Throws `conflict` unless the workspace has another owner who is not disabled. */
export function requireOtherOwner(members: readonly MemberRole[], userId: string): void {
  if (members.some((member) => member.userId !== userId && member.role === 'owner' && !member.disabled)) return;
  throw new RmsError('conflict', { message: 'A workspace needs an owner. Make another member an owner first.' });
}
