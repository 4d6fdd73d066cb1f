import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { MailRequestsService } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Callers } from '@rms/rpc';

/** Gateways ask whose a key is; alerts sends mail; only people's tools make and end keys, and sign people in. */
export const callers: Callers = {
  gateway: [
    KeysService.method.batchVerifyKeys,
    KeyUsesService.method.batchReportKeyUses,
    RequestsService.method.batchReportRequests,
  ],
  alerts: [
    WorkspacesService.method.listWorkspaces,
    KeysService.method.listKeys,
    MembersService.method.listMembers,
    ...MailRequestsService.methods,
  ],
  dashboard: 'all',
  rms: 'all',
};
