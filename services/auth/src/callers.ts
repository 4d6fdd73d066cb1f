import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { type Callers, forKeys, forUsers } from '@rms/rpc';

const { createKey, getKey, listKeys, updateKey, rollKey, revokeKey, batchVerifyKeys } = KeysService.method;
const { createInvitation, listInvitations, getInvitation, revokeInvitation, findInvitation, acceptInvitation } =
  InvitationsService.method;
const {
  getUser,
  updateUser,
  endSessions,
  recordSessionEnd,
  requestEmailChange,
  confirmEmailChange,
  deleteUser,
  unlinkIdentity,
} = UsersService.method;
const { requestPasswordReset, resetPassword, changePassword } = PasswordsService.method;
const { createPortalSession, openPortalSession, checkPortalSession } = PortalSessionsService.method;
const { createWorkspace, listWorkspaces, getWorkspace } = WorkspacesService.method;

/**
 * Methods that each caller may use. Gateways call the methods behind the REST API for the API key of the request. The
 * dashboard calls the methods behind its pages for users. In its own name it calls the methods that establish who the
 * user is: sign-in, sessions, portal sessions and links. Only `rms` may create and reset users, and change plans; no user and no
 * API key may be the actor of these methods.
 */
export const callers: Callers = {
  gateway: [
    batchVerifyKeys,
    KeyUsesService.method.batchReportKeyUses,
    RequestsService.method.batchReportRequests,
    ...forKeys(
      createKey,
      getKey,
      listKeys,
      updateKey,
      rollKey,
      revokeKey,
      getWorkspace,
      AuditService.method.listAuditEntries,
      RequestsService.method.listRequests,
      RequestsService.method.searchRequests,
      ...MembersService.methods,
      createInvitation,
      listInvitations,
      getInvitation,
      revokeInvitation,
      createPortalSession,
    ),
  ],
  alerts: [
    listWorkspaces,
    getWorkspace,
    listKeys,
    MembersService.method.listMembers,
    RequestsService.method.summarizeFailures,
    ...EmailRequestsService.methods,
  ],
  webhooks: [...OperationalEventsService.methods],
  dashboard: [
    ...SignInService.methods,
    requestPasswordReset,
    resetPassword,
    confirmEmailChange,
    findInvitation,
    acceptInvitation,
    openPortalSession,
    checkPortalSession,
    // For portal sessions, which act for the key that created them.
    ...forKeys(getWorkspace, RequestsService.method.batchReportRequests),
    ...forUsers(
      ...MembersService.methods,
      ...SecondFactorsService.methods,
      createInvitation,
      listInvitations,
      getInvitation,
      revokeInvitation,
      acceptInvitation,
      changePassword,
      updateUser,
      endSessions,
      recordSessionEnd,
      requestEmailChange,
      deleteUser,
      getUser,
      unlinkIdentity,
      createKey,
      getKey,
      listKeys,
      updateKey,
      rollKey,
      revokeKey,
      getWorkspace,
      RequestsService.method.listRequests,
      RequestsService.method.searchRequests,
      RequestsService.method.batchReportRequests,
      AuditService.method.listAuditEntries,
    ),
  ],
  // Owners may create workspaces; the method checks their role.
  rms: ['all', ...forUsers(createWorkspace)],
};
