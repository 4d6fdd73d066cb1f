import { RmsError } from '@rms/errors';
import { may, mayChangeRole, type Permission, type Role } from '@rms/roles';

/** A person's place in a workspace. */
export interface Membership {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly userId: string;
  readonly role: Role;
  readonly createdAt: Date;
}

/** A member as the others see them. */
export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly lastSignInAt: Date | undefined;
  readonly hasSecondFactor: boolean;
  /** Is not let in, and counts as no owner. */
  readonly disabled: boolean;
}

/** What is decided on of each member. */
export type MemberRole = Pick<Member, 'userId' | 'role' | 'disabled'>;

/** Who acts in a workspace: a person with a role there (undefined: none), or an operator, who may do all. */
export type Acting = 'operator' | { readonly userId: string; readonly role: Role | undefined };

/** Throws `insufficient_role` unless who acts may do that. */
export function requirePermission(acting: Acting, permission: Permission): void {
  if (acting !== 'operator' && !may(acting.role, permission)) throw new RmsError('insufficient_role');
}

/** Throws `insufficient_role` unless who acts may make a member of role `from` one of role `to` (see mayChangeRole). */
export function requireRoleChange(acting: Acting, from: Role | undefined, to: Role | undefined): void {
  if (acting !== 'operator' && !mayChangeRole(acting.role, from, to)) throw new RmsError('insufficient_role');
}

/**
 * Throws unless who acts may give the member `userId` another role, or take the membership away: `not_found` for who is
 * no member, `insufficient_role`, or `conflict` where no owner would be left. Everybody may leave.
 * @param members all of the workspace
 * @param to undefined: no member any more
 */
export function checkRoleChange(
  members: readonly MemberRole[],
  acting: Acting,
  userId: string,
  to: Role | undefined,
): void {
  const from = members.find((member) => member.userId === userId)?.role;
  const isLeaving = acting !== 'operator' && acting.userId === userId && to === undefined && acting.role !== undefined;
  // Whoever may not even see the members is told nothing of who is one.
  if (!isLeaving) requirePermission(acting, 'members.write');
  if (from === undefined) {
    throw new RmsError('not_found', { message: `There is no member "${userId}" in this workspace.` });
  }
  if (!isLeaving) requireRoleChange(acting, from, to);
  if (from === 'owner' && to !== 'owner') requireOtherOwner(members, userId);
}

/** Throws `conflict` unless the workspace has an owner besides that user, one who may sign in. */
export function requireOtherOwner(members: readonly MemberRole[], userId: string): void {
  if (members.some((member) => member.userId !== userId && member.role === 'owner' && !member.disabled)) return;
  throw new RmsError('conflict', { message: 'A workspace needs an owner: make somebody else an owner first.' });
}
