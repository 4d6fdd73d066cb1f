import type { AuditChange } from '@rms/audit';
import type { Invitation } from './invitation.ts';

type What = 'created' | 'revoked' | 'accepted';

/** Returns the audit entry of a change to an invitation. */
export function invitationChange(what: What, { workspaceId, id, email, role }: Invitation): AuditChange {
  return { workspaceId, action: `invitation.${what}`, targetId: id, details: { email, role } };
}
