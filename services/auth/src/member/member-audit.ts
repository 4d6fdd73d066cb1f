import type { Role } from '@rms/base/roles';
import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';

/** A membership's user. */
interface Who {
  readonly id: string;
  readonly email: string;
}

const fields: AuditedFields<{ readonly role: Role }> = { role: 'shown' };

/** Returns the audit entry of a new member. */
export function memberAdded(workspaceId: string, user: Who, role: Role): NewAuditEntry {
  const changes = changesBetween(fields, undefined, { role });
  return { ...targetOf(workspaceId, user), action: 'member.added', changes };
}

export function memberUpdated(workspaceId: string, user: Who, from: Role, role: Role): NewAuditEntry {
  const changes = changesBetween(fields, { role: from }, { role });
  return { ...targetOf(workspaceId, user), action: 'member.updated', changes };
}

export function memberRemoved(workspaceId: string, user: Who, role: Role): NewAuditEntry {
  const changes = changesBetween(fields, { role }, undefined);
  return { ...targetOf(workspaceId, user), action: 'member.removed', changes };
}

function targetOf(workspaceId: string, { id, email }: Who) {
  return { workspaceId, target: { id, name: email } };
}
