import { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { rpcService } from '@rms/rpc';
import { acceptInvitation } from './rpc/accept-invitation.ts';
import { beginSecondFactor } from './rpc/begin-second-factor.ts';
import { bootstrapUser } from './rpc/bootstrap-user.ts';
import { changePassword } from './rpc/change-password.ts';
import { checkPortalSession } from './rpc/check-portal-session.ts';
import { checkSession } from './rpc/check-session.ts';
import { confirmEmailChange } from './rpc/confirm-email-change.ts';
import { confirmSecondFactor } from './rpc/confirm-second-factor.ts';
import { createInvitation } from './rpc/create-invitation.ts';
import { createPortalSession } from './rpc/create-portal-session.ts';
import { createUser } from './rpc/create-user.ts';
import { deleteEmailRequests } from './rpc/delete-email-requests.ts';
import { deleteUser } from './rpc/delete-user.ts';
import { endSessions } from './rpc/end-sessions.ts';
import { findInvitation } from './rpc/find-invitation.ts';
import { getInvitation } from './rpc/get-invitation.ts';
import { getMember } from './rpc/get-member.ts';
import { getSecondFactor } from './rpc/get-second-factor.ts';
import { getUser } from './rpc/get-user.ts';
import type { HandlerParts } from './rpc/handler.ts';
import { leaseEmailRequests } from './rpc/lease-email-requests.ts';
import { listInvitations } from './rpc/list-invitations.ts';
import { listMembers } from './rpc/list-members.ts';
import { listUsers } from './rpc/list-users.ts';
import { openPortalSession } from './rpc/open-portal-session.ts';
import { recordSessionEnd } from './rpc/record-session-end.ts';
import { reencryptSecrets } from './rpc/reencrypt-secrets.ts';
import { removeMember } from './rpc/remove-member.ts';
import { removeSecondFactor } from './rpc/remove-second-factor.ts';
import { renewRecoveryCodes } from './rpc/renew-recovery-codes.ts';
import { requestEmailChange } from './rpc/request-email-change.ts';
import { requestPasswordReset } from './rpc/request-password-reset.ts';
import { resetPassword } from './rpc/reset-password.ts';
import { resetUser } from './rpc/reset-user.ts';
import { revokeInvitation } from './rpc/revoke-invitation.ts';
import { setUserDisabled } from './rpc/set-user-disabled.ts';
import { unlinkIdentity } from './rpc/unlink-identity.ts';
import { updateMember } from './rpc/update-member.ts';
import { updateUser } from './rpc/update-user.ts';
import { verifyIdentity } from './rpc/verify-identity.ts';
import { verifyPassword } from './rpc/verify-password.ts';
import { verifySecondFactor } from './rpc/verify-second-factor.ts';

/** Returns the gRPC services for users, memberships, invitations, sign-in and portal sessions. */
export function userServices(parts: HandlerParts): ReturnType<typeof rpcService>[] {
  return [
    rpcService(UsersService, {
      createUser: createUser(parts),
      bootstrapUser: bootstrapUser(parts),
      resetUser: resetUser(parts),
      listUsers: listUsers(parts),
      getUser: getUser(parts),
      updateUser: updateUser(parts),
      endSessions: endSessions(parts),
      recordSessionEnd: recordSessionEnd(parts),
      requestEmailChange: requestEmailChange(parts),
      confirmEmailChange: confirmEmailChange(parts),
      setUserDisabled: setUserDisabled(parts),
      deleteUser: deleteUser(parts),
      unlinkIdentity: unlinkIdentity(parts),
    }),
    rpcService(SignInService, {
      verifyPassword: verifyPassword(parts),
      verifySecondFactor: verifySecondFactor(parts),
      verifyIdentity: verifyIdentity(parts),
      checkSession: checkSession(parts),
    }),
    rpcService(PasswordsService, {
      requestPasswordReset: requestPasswordReset(parts),
      resetPassword: resetPassword(parts),
      changePassword: changePassword(parts),
    }),
    rpcService(SecondFactorsService, {
      beginSecondFactor: beginSecondFactor(parts),
      confirmSecondFactor: confirmSecondFactor(parts),
      removeSecondFactor: removeSecondFactor(parts),
      renewRecoveryCodes: renewRecoveryCodes(parts),
      getSecondFactor: getSecondFactor(parts),
    }),
    rpcService(MembersService, {
      listMembers: listMembers(parts),
      getMember: getMember(parts),
      updateMember: updateMember(parts),
      removeMember: removeMember(parts),
    }),
    rpcService(InvitationsService, {
      createInvitation: createInvitation(parts),
      listInvitations: listInvitations(parts),
      getInvitation: getInvitation(parts),
      revokeInvitation: revokeInvitation(parts),
      findInvitation: findInvitation(parts),
      acceptInvitation: acceptInvitation(parts),
    }),
    rpcService(PortalSessionsService, {
      createPortalSession: createPortalSession(parts),
      openPortalSession: openPortalSession(parts),
      checkPortalSession: checkPortalSession(parts),
    }),
    rpcService(EmailRequestsService, {
      leaseEmailRequests: leaseEmailRequests(parts),
      deleteEmailRequests: deleteEmailRequests(parts),
    }),
    rpcService(SecretsService, {
      reencryptSecrets: reencryptSecrets(parts),
    }),
  ];
}
