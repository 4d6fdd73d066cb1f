import type { AuditChange, AuditOrigin } from '@rms/audit';

/**
 * What the audit log says of a person: an entry in each workspace of theirs, whose owners have to see it, or else one of
 * the installation.
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

/** The origin of what a person does who has just proven who they are. */
export function bySelf(origin: AuditOrigin, userId: string): AuditOrigin {
  return { ...origin, actor: actorOfUser(userId), principal: undefined };
}

/** The origin of what somebody does who has proven nothing. */
export function byNobody(origin: AuditOrigin): AuditOrigin {
  return { ...origin, actor: 'anonymous', principal: undefined };
}

const prefix = 'user:';

/** How the audit log, and the context of calls, name a person. */
export function actorOfUser(userId: string): string {
  return `${prefix}${userId}`;
}

/** The person who acts; undefined: an operator or a service does. */
export function userOfActor(actor: string): string | undefined {
  return actor.startsWith(prefix) ? actor.slice(prefix.length) : undefined;
}
