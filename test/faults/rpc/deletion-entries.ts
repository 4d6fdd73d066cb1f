import { newId } from '@rms/base/ids';
import type { WorkspaceDeletionService as AlertsDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import type { WorkspaceDeletionService as AuthDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import type { WorkspaceDeletionService as ResourcesDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import type { WorkspaceDeletionService as WebhooksDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import type { Entries, Entry } from './entry.ts';
import type { Rpc } from './rpc.ts';

const keyedBy = 'installation';
const why = 'an operator deletes a workspace';

/** Calls of the method with a workspace that does not exist, which must not delete the rows of others. */
function deletes(service: 'resourcesDeletion' | 'webhooksDeletion' | 'alertsDeletion'): Entry {
  const call = (rpc: Rpc, workspaceId: string) => () => rpc[service].deleteContents({ workspaceId });
  return {
    keyedBy,
    why,
    attempts: (rpc) => [
      [call(rpc, newId('ws')), { deleted: {}, nextPageToken: '' }],
      [call(rpc, ''), 'invalid_request'],
    ],
  };
}

export const alertsDeletionEntries: Entries<typeof AlertsDeletionService> = {
  deleteContents: deletes('alertsDeletion'),
};

export const resourcesDeletionEntries: Entries<typeof ResourcesDeletionService> = {
  countContents: {
    keyedBy,
    why,
    attempts: ({ resourcesDeletion }) => [
      [() => resourcesDeletion.countContents({ workspaceId: newId('ws') }), { counts: { resources: 0n } }],
      [() => resourcesDeletion.countContents({ workspaceId: '' }), 'invalid_request'],
    ],
  },
  deleteContents: deletes('resourcesDeletion'),
};

export const webhooksDeletionEntries: Entries<typeof WebhooksDeletionService> = {
  countContents: {
    keyedBy,
    why,
    attempts: ({ webhooksDeletion }) => [
      [() => webhooksDeletion.countContents({ workspaceId: newId('ws') }), { counts: { webhooks: 0n } }],
      [() => webhooksDeletion.countContents({ workspaceId: '' }), 'invalid_request'],
    ],
  },
  deleteContents: deletes('webhooksDeletion'),
};

export const authDeletionEntries: Entries<typeof AuthDeletionService> = {
  countContents: {
    keyedBy,
    why,
    attempts: ({ authDeletion }) => [
      [
        () => authDeletion.countContents({ workspaceId: newId('ws') }),
        { counts: { keys: 0n, members: 0n, invitations: 0n } },
      ],
      [() => authDeletion.countContents({ workspaceId: '' }), 'invalid_request'],
    ],
  },
  beginDeletion: {
    keyedBy,
    why,
    attempts: ({ authDeletion }, { owner: { workspaceId } }) => [
      [() => authDeletion.beginDeletion({ workspaceId: newId('ws') }), 'not_found'],
      [() => authDeletion.beginDeletion({ workspaceId, onlyIfEmpty: true }), 'conflict'],
    ],
  },
  deleteContents: {
    keyedBy,
    why,
    attempts: ({ authDeletion }, { owner: { workspaceId } }) => [
      [() => authDeletion.deleteContents({ workspaceId: newId('ws') }), { deleted: {}, nextPageToken: '' }],
      [() => authDeletion.deleteContents({ workspaceId }), 'conflict'],
      [() => authDeletion.deleteContents({ workspaceId: '' }), 'invalid_request'],
    ],
  },
  completeDeletion: {
    keyedBy,
    why,
    attempts: ({ authDeletion }, { owner: { workspaceId } }) => [
      [() => authDeletion.completeDeletion({ workspaceId: newId('ws') }), 'not_found'],
      [() => authDeletion.completeDeletion({ workspaceId }), 'conflict'],
    ],
  },
};
