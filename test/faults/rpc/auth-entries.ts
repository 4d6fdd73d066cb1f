import type { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { type KeysService, KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type Entries, notFoundItem } from './entry.ts';
import { ownersName } from './owned.ts';

export const keysEntries: Entries<typeof KeysService> = {
  createKey: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ keys }, as) => [
      [() => keys.createKey({ ...as, scope: Scope.READ, name: ownersName }), { key: { ...as, uses: [] } }],
    ],
  },
  listKeys: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as) => [[() => keys.listKeys(as), {}]],
  },
  revokeKey: {
    keyedBy: 'workspace',
    attempts: ({ keys }, { workspaceId }, { keyId }) => [
      [() => keys.revokeKey({ workspaceId, id: keyId }), 'not_found'],
    ],
  },
  batchRevokeKeys: {
    keyedBy: 'workspace',
    attempts: ({ keys }, { workspaceId }, { keyId }) => [
      [() => keys.batchRevokeKeys({ requests: [{ workspaceId, id: keyId }] }), { results: [notFoundItem] }],
    ],
  },
  updateKey: {
    keyedBy: 'workspace',
    attempts: ({ keys }, { workspaceId }, { keyId }) => [
      [() => keys.updateKey({ workspaceId, id: keyId, name: 'Taken' }), 'not_found'],
      [() => keys.updateKey({ workspaceId, id: keyId, allowedIps: { cidrs: ['192.0.2.0/24'] } }), 'not_found'],
    ],
  },
  rollKey: {
    keyedBy: 'workspace',
    attempts: ({ keys }, { workspaceId }, { keyId }) => [[() => keys.rollKey({ workspaceId, id: keyId }), 'not_found']],
  },
  batchFindKeys: {
    keyedBy: 'installation',
    why: 'an operator has found values of keys and asks whose they are',
    reveals: true,
    attempts: ({ keys }, { keyHash }) => [[() => keys.batchFindKeys({ keyHashes: [keyHash] }), {}]],
  },
  batchVerifyKeys: {
    keyedBy: 'installation',
    why: 'the gateway asks whose a key is; the hash is the proof',
    attempts: ({ keys }, { keyHash, keyId }) => [
      [
        () => keys.batchVerifyKeys({ requests: [{ keyHash, environment: Environment.SANDBOX }] }),
        { results: [{ verdict: KeyVerdict.INVALID, exists: true }] },
      ],
      [
        () => keys.batchVerifyKeys({ requests: [{ keyHash: Buffer.from(keyId), environment: Environment.LIVE }] }),
        { results: [{ verdict: KeyVerdict.INVALID, exists: false }] },
      ],
      [() => keys.batchVerifyKeys({ requests: [{ keyHash, environment: 99 as Environment }] }), 'invalid_request'],
      [() => keys.batchVerifyKeys({ requests: [{ keyHash }] }), 'invalid_request'],
    ],
  },
};

export const keyUsesEntries: Entries<typeof KeyUsesService> = {
  batchReportKeyUses: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ keyUses }, as, { keyId }) => [
      [
        () =>
          keyUses.batchReportKeyUses({
            uses: [{ ...as, keyId, address: '198.51.100.1', userAgent: 'stranger', requests: 1_000n }],
          }),
        {},
      ],
    ],
  },
};

export const requestsEntries: Entries<typeof RequestsService> = {
  batchReportRequests: {
    keyedBy: 'installation',
    why: 'gateways tell what requests of all workspaces came to',
  },
  listRequests: {
    keyedBy: 'tenant',
    unspecified: 'both',
    emptyWorkspace: 'requests without a valid key, which are of no workspace',
    attempts: ({ requests }, as, { requestId }) => [
      [() => requests.listRequests({ ...as, requestId }), { requests: [] }],
    ],
  },
};

export const workspacesEntries: Entries<typeof WorkspacesService> = {
  createWorkspace: {
    keyedBy: 'installation',
    why: 'an operator makes workspaces',
    attempts: ({ workspaces }) => [[() => workspaces.createWorkspace({ name: ownersName }), {}]],
  },
  listWorkspaces: {
    keyedBy: 'installation',
    why: 'an operator sees all workspaces; names and plans, nothing of what is in them',
    attempts: ({ workspaces }) => [[() => workspaces.listWorkspaces({}), {}]],
  },
  bootstrapWorkspace: {
    keyedBy: 'installation',
    why: 'npm start makes the first workspace; once there is one, it gives no keys',
    attempts: ({ workspaces }) => [
      [() => workspaces.bootstrapWorkspace({ name: ownersName }), { created: false, keys: [], keyValues: [] }],
    ],
  },
  setWorkspacePlan: {
    keyedBy: 'workspace',
    attempts: ({ workspaces }, { workspaceId }) => [
      [() => workspaces.setWorkspacePlan({ workspaceId, plan: '' }), { workspace: { id: workspaceId, plan: '' } }],
      [() => workspaces.setWorkspacePlan({ workspaceId, plan: 'no-such-plan' }), 'not_found'],
    ],
  },
};

export const plansEntries: Entries<typeof PlansService> = {
  setPlan: {
    keyedBy: 'installation',
    why: 'plans are of the installation; workspaces are put on them one by one',
    attempts: ({ plans }) => [[() => plans.setPlan({ plan: { name: 'small', monthlyQuota: 1n } }), {}]],
  },
  listPlans: {
    keyedBy: 'installation',
    why: 'plans are of the installation',
    attempts: ({ plans }) => [[() => plans.listPlans({}), {}]],
  },
};

export const auditEntries: Entries<typeof AuditService> = {
  listAuditEntries: {
    keyedBy: 'workspace',
    emptyWorkspace: 'entries of the installation itself, which are of no workspace',
    attempts: ({ audit }, { workspaceId }, { keyId, webhookId, pageTokens }) => [
      [() => audit.listAuditEntries({ workspaceId, pageSize: 1_000 }), {}],
      [() => audit.listAuditEntries({ workspaceId, pageSize: 1_000, targetId: keyId }), { entries: [] }],
      [() => audit.listAuditEntries({ workspaceId, pageSize: 1_000, targetId: webhookId }), { entries: [] }],
      [() => audit.listAuditEntries({ workspaceId, pageSize: 1_000, pageToken: pageTokens.audit }), {}],
      [() => audit.listAuditEntries({ workspaceId, pageSize: 1, pageToken: pageTokens.webhooks }), 'invalid_request'],
    ],
  },
};
