import type { Member as Message } from '@rms/proto/rms/auth/v1/members_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { presentTimeOf, timeOf } from '../times.ts';
import type { Member } from './schema.ts';

export const roleMessages = enumNames(Role);

/** Returns the API representation of a member. */
export function memberDocument(member: Message | undefined): Member {
  if (!member) throw new Error('auth returned no member');
  return {
    id: member.userId,
    type: 'member',
    email: member.email,
    name: member.name,
    role: roleMessages.toName(member.role) ?? 'viewer',
    has_second_factor: member.hasSecondFactor,
    disabled: member.disabled,
    last_sign_in_at: timeOf(member.lastSignInTime),
    created_at: presentTimeOf(member.createTime),
  };
}
