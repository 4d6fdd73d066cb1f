import type { Invitation as Message } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { roleMessages } from '../member/document.ts';
import { presentTimeOf } from '../times.ts';
import type { Invitation } from './schema.ts';

/** Returns the API representation of an invitation. */
export function invitationDocument(invitation: Message | undefined): Invitation {
  if (!invitation) throw new Error('auth returned no invitation');
  return {
    id: invitation.id,
    type: 'invitation',
    email: invitation.email,
    role: roleMessages.toName(invitation.role) ?? 'viewer',
    invited_by: invitation.invitedBy,
    created_at: presentTimeOf(invitation.createTime),
    expires_at: presentTimeOf(invitation.expireTime),
  };
}
