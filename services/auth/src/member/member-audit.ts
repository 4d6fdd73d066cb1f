import type { AuditChange } from '@rms/audit';
import type { Role } from '@rms/roles';

/** Returns the audit entry of a new member. */
export function memberAdded(workspaceId: string, userId: string, role: Role): AuditChange {
  return { workspaceId, action: 'member.added', targetId: userId, details: { role } };
}

export function memberUpdated(workspaceId: string, userId: string, from: Role, role: Role): AuditChange {
  return { workspaceId, action: 'member.updated', targetId: userId, details: { from, role } };
}

export function memberRemoved(workspaceId: string, userId: string, role: Role): AuditChange {
  return { workspaceId, action: 'member.removed', targetId: userId, details: { role } };
}
