import type { UseQueryResult } from '@tanstack/react-query';
import type { InvitationDocument, MemberDocument } from '../../../../src/documents/team.ts';
import { useTenantQuery } from '../../api/tenant.ts';

export function useMembers(): UseQueryResult<{ readonly data: readonly MemberDocument[] }> {
  return useTenantQuery('/members');
}

/** Returns the email addresses of the members by actor ("user:usr_…"). Empty while they load. */
export function useMemberEmails(): ReadonlyMap<string, string> {
  const { data } = useMembers();
  return new Map(data?.data.map((member) => [`user:${member.user_id}`, member.email]));
}

/** Queries the invitations that have not been accepted. */
export function useInvitations(): UseQueryResult<{ readonly data: readonly InvitationDocument[] }> {
  return useTenantQuery('/invitations');
}
