import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { Invitation } from './invitation.ts';

const fields: AuditedFields<Invitation> = {
  workspaceId: 'omitted',
  id: 'omitted',
  email: 'shown',
  emailKey: 'omitted',
  role: 'shown',
  tokenHash: 'omitted',
  invitedBy: 'omitted',
  createdAt: 'omitted',
  expiresAt: 'shown',
};

/** Returns the audit entry of a new invitation. `replaced` is the previous invitation of the same address. */
export function invitationCreated(replaced: Invitation | undefined, invitation: Invitation): NewAuditEntry {
  const changes = changesBetween(fields, replaced, invitation);
  const details = replaced ? { replaced: replaced.id } : {};
  return { ...targetOf(invitation), action: 'invitation.created', changes, details };
}

/** Returns the audit entry of an invitation that ended. */
export function invitationEnded(how: 'accepted' | 'revoked', invitation: Invitation): NewAuditEntry {
  const changes = changesBetween(fields, invitation, undefined);
  return { ...targetOf(invitation), action: `invitation.${how}`, changes };
}

function targetOf({ workspaceId, id, email }: Invitation) {
  return { workspaceId, target: { id, name: email } };
}
