import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Callers } from '@rms/rpc';

/** Gateways ask whose a key is; only people's tools make and end keys. */
export const callers: Callers = {
  gateway: [
    KeysService.method.batchVerifyKeys,
    KeyUsesService.method.batchReportKeyUses,
    RequestsService.method.batchReportRequests,
  ],
  alerts: [WorkspacesService.method.listWorkspaces, KeysService.method.listKeys],
  dashboard: 'all',
  rms: 'all',
};
