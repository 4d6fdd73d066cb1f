import type { AuditChange } from '@rms/audit';
import type { Invitation } from './invitation.ts';

type What = 'created' | 'revoked' | 'accepted';

/** What the audit log says of invitations. */
export function invitationChange(what: What, { workspaceId, id, email, role }: Invitation): AuditChange {
  return { workspaceId, action: `invitation.${what}`, targetId: id, details: { email, role } };
}
