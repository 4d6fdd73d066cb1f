import { timeOf } from '@rms/api/times';
import type { Role } from '@rms/base/roles';
import type { Invitation } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Member } from '@rms/proto/rms/auth/v1/members_service_pb';
import { roleOf } from '../checks/admission.ts';

export interface MemberDocument {
  readonly user_id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly joined_at: string | null;
  readonly last_sign_in_at: string | null;
  readonly has_second_factor: boolean;
  /** Disabled users cannot sign in. */
  readonly disabled: boolean;
}

export interface InvitationDocument {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string | null;
  readonly expires_at: string | null;
}

export interface NewInvitationDocument extends InvitationDocument {
  /** Invitation link. Only this response contains it. null: the invited address receives the link by email. */
  readonly link: string | null;
}

export function memberDocument(member: Member): MemberDocument {
  return {
    user_id: member.userId,
    email: member.email,
    name: member.name,
    role: roleOf(member) ?? 'viewer',
    joined_at: timeOf(member.createTime),
    last_sign_in_at: timeOf(member.lastSignInTime),
    has_second_factor: member.hasSecondFactor,
    disabled: member.disabled,
  };
}

export function invitationDocument(invitation: Invitation): InvitationDocument {
  return {
    id: invitation.id,
    email: invitation.email,
    role: roleOf(invitation) ?? 'viewer',
    created_at: timeOf(invitation.createTime),
    expires_at: timeOf(invitation.expireTime),
  };
}

export function newInvitationDocument(invitation: Invitation, link: string | null): NewInvitationDocument {
  return { ...invitationDocument(invitation), link };
}
