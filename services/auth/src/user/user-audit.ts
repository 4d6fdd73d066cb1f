import {
  type AuditedAction,
  type AuditedFields,
  type AuditOrigin,
  changesBetween,
  type FieldChanges,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import { actorOfUser } from '@rms/rpc';
import type { User } from './user.ts';

const fields: AuditedFields<User> = {
  id: 'omitted',
  email: 'shown',
  emailKey: 'omitted',
  name: 'shown',
  passwordHash: { secret: 'password' },
  sessionGeneration: 'omitted',
  createdAt: 'omitted',
  lastSignInAt: 'omitted',
  hasSecondFactor: 'shown',
  disabledAt: 'shown',
};

/** Returns the changes between two locked or written states of a user. */
export function userChanges(before: User | undefined, after: User | undefined): FieldChanges {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of a user who was created in a workspace. */
export function userCreated(workspaceId: string, user: User): NewAuditEntry {
  return { workspaceId, target: targetOf(user), action: 'user.created', changes: userChanges(undefined, user) };
}

/**
 * Returns the audit entries of an action on a user: one per workspace of the user, or one for the installation if the
 * user has no workspace. `user` is undefined if there is no such user.
 */
export function userEntries(
  user: Pick<User, 'id' | 'email'> | undefined,
  memberships: readonly { readonly workspaceId: string }[],
  action: AuditedAction,
): NewAuditEntry[] {
  const workspaceIds = memberships.length === 0 ? [''] : memberships.map(({ workspaceId }) => workspaceId);
  return workspaceIds.map((workspaceId) => ({ workspaceId, target: targetOf(user), ...action }));
}

/** Returns the origin of an action by a user immediately after authentication. */
export function bySelf(origin: AuditOrigin, { id, email }: Pick<User, 'id' | 'email'>): AuditOrigin {
  return { ...origin, actor: actorOfUser(id), actorName: email, principal: undefined };
}

/** Returns the origin of an action by an unauthenticated caller. */
export function withoutActor(origin: AuditOrigin): AuditOrigin {
  return { ...origin, actor: 'anonymous', actorName: '', principal: undefined };
}

function targetOf(user: Pick<User, 'id' | 'email'> | undefined) {
  return { id: user?.id ?? '', name: user?.email ?? '' };
}
