import type { Invitation, Member } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { type List, useTenantQuery } from '../../api/tenant.ts';

export function useMembers(): UseQueryResult<List<Member>> {
  return useTenantQuery('/members', { search: { all: 'true' } });
}

/** Returns the email addresses of the members by actor ("user:usr_…"). Empty while they load. */
export function useMemberEmails(): ReadonlyMap<string, string> {
  const { data } = useMembers();
  return new Map(data?.data.map((member) => [`user:${member.id}`, member.email]));
}

/** Queries the invitations that have not been accepted. */
export function useInvitations(): UseQueryResult<List<Invitation>> {
  return useTenantQuery('/invitations', { search: { all: 'true' } });
}
