import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toRoleMessage } from '../member/member-message.ts';
import type { Invitation } from './invitation.ts';

/** Converts an invitation to rms.auth.v1.Invitation. */
export function toInvitationMessage({ id, workspaceId, email, role, invitedBy, createdAt, expiresAt }: Invitation) {
  return {
    id,
    workspaceId,
    email,
    role: toRoleMessage(role),
    invitedBy,
    createTime: timestampFromDate(createdAt),
    expireTime: timestampFromDate(expiresAt),
    version: BigInt(createdAt.getTime()),
  };
}
