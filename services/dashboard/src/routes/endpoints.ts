import {
  alertChannelEndpoints,
  alertRuleEndpoints,
  deliveryEndpoints,
  eventEndpoints,
  incidentEndpoints,
  invitationEndpoints,
  keyEndpoints,
  memberEndpoints,
  metricsEndpoints,
  replayEndpoints,
  requestEndpoints,
  resourceEndpoints,
  webhookCertificateEndpoints,
  webhookEndpoints,
  workspaceEndpoints,
} from '@rms/api';
import { acceptInvitation, acceptInvitationAsNew, findInvitation } from './accept-invitation.ts';
import { confirmRecipient, findRecipient } from './alert-recipient.ts';
import { deleteAccount } from './delete-account.ts';
import { confirmEmailChange, requestEmailChange } from './email-change.ts';
import { apiEndpoint, type Endpoint } from './endpoint.ts';
import { getAccount } from './get-account.ts';
import { getEmailStatus } from './get-email-status.ts';
import { getLimits } from './get-limits.ts';
import { getUnfinishedDeliveries } from './get-unfinished-deliveries.ts';
import { listIdentities, unlinkIdentity } from './identities.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listMemberKeys } from './list-member-keys.ts';
import { listResourceEvents } from './list-resource-events.ts';
import { changePassword, requestPasswordReset, resetPassword } from './passwords.ts';
import { getPortal, openPortal } from './portal.ts';
import { redeliverSelected } from './redeliver-selected.ts';
import {
  beginSecondFactor,
  confirmSecondFactor,
  getSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from './second-factor.ts';
import { endOtherSessions, endSession, listSessions } from './sessions.ts';
import { secondFactorRoute, signInOptions, signInRoute } from './sign-in.ts';
import { signOut } from './sign-out.ts';
import { tailDeliveries } from './tail-deliveries.ts';
import { findUnsubscribe, resubscribe, unsubscribe } from './unsubscribe.ts';
import { updateProfile } from './update-profile.ts';

/** All endpoints of the API. A fixed path precedes a path with a parameter in the same position. */
export const endpoints: readonly Endpoint[] = [
  signInRoute,
  signInOptions,
  secondFactorRoute,
  requestPasswordReset,
  resetPassword,
  confirmEmailChange,
  findInvitation,
  acceptInvitationAsNew,
  findUnsubscribe,
  unsubscribe,
  resubscribe,
  findRecipient,
  confirmRecipient,
  openPortal,
  getPortal,

  getAccount,
  updateProfile,
  signOut,
  listSessions,
  endOtherSessions,
  endSession,
  changePassword,
  requestEmailChange,
  deleteAccount,
  listIdentities,
  unlinkIdentity,
  getSecondFactor,
  beginSecondFactor,
  confirmSecondFactor,
  renewRecoveryCodes,
  removeSecondFactor,
  acceptInvitation,

  ...keyEndpoints.map(apiEndpoint),
  ...webhookEndpoints.map(apiEndpoint),
  ...webhookCertificateEndpoints.map(apiEndpoint),

  redeliverSelected,
  tailDeliveries,
  ...deliveryEndpoints.map(apiEndpoint),
  ...replayEndpoints.map(apiEndpoint),

  ...resourceEndpoints.map(apiEndpoint),
  listResourceEvents,
  ...eventEndpoints.map(apiEndpoint),

  ...memberEndpoints.map(apiEndpoint),
  listMemberKeys,
  ...invitationEndpoints.map(apiEndpoint),
  listAuditEntries,
  getLimits,
  ...requestEndpoints.map(apiEndpoint),
  ...metricsEndpoints.map(apiEndpoint),
  ...workspaceEndpoints.map(apiEndpoint),
  getUnfinishedDeliveries,
  ...alertRuleEndpoints.map(apiEndpoint),
  ...incidentEndpoints.map(apiEndpoint),
  ...alertChannelEndpoints.map(apiEndpoint),
  getEmailStatus,
];
