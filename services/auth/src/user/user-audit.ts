import type { AuditChange, AuditOrigin } from '@rms/audit';
import { actorOfUser } from '@rms/rpc';

/**
 * Returns the audit entries of a change to a user: one per workspace of the user, or one for the installation if the
 * user has no workspace.
 */
export function userChanges(
  userId: string,
  memberships: readonly { readonly workspaceId: string }[],
  action: string,
  details: Record<string, unknown> = {},
): AuditChange[] {
  const workspaceIds = memberships.length === 0 ? [''] : memberships.map(({ workspaceId }) => workspaceId);
  return workspaceIds.map((workspaceId) => ({ workspaceId, action, targetId: userId, details }));
}

/** Returns the origin of an action by a user immediately after authentication. */
export function bySelf(origin: AuditOrigin, userId: string): AuditOrigin {
  return { ...origin, actor: actorOfUser(userId), principal: undefined };
}

/** Returns the origin of an action by an unauthenticated caller. */
export function withoutActor(origin: AuditOrigin): AuditOrigin {
  return { ...origin, actor: 'anonymous', principal: undefined };
}
