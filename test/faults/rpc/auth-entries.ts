import type { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { type KeysService, KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type Entries, notFoundItem } from './entry.ts';
import { idempotencyKey, ownersName } from './owned.ts';

export const keysEntries: Entries<typeof KeysService> = {
  createKey: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ keys }, as) => [
      [() => keys.createKey({ ...as, scope: Scope.READ, name: ownersName }), { key: { ...as, uses: [] } }],
      [
        () => keys.createKey({ ...as, scope: Scope.ADMIN, name: ownersName, idempotencyKey }),
        { key: { ...as, uses: [] }, replayed: false },
      ],
    ],
  },
  listKeys: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as, { pageTokens }) => [
      [() => keys.listKeys(as), {}],
      [() => keys.listKeys({ ...as, namePart: ownersName }), {}],
      [() => keys.listKeys({ ...as, pageSize: 1, pageToken: pageTokens.keys }), 'invalid_request'],
    ],
  },
  getKey: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as, { keyId }) => [[() => keys.getKey({ ...as, id: keyId }), 'not_found']],
  },
  revokeKey: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as, { keyId }) => [[() => keys.revokeKey({ ...as, id: keyId }), 'not_found']],
  },
  batchRevokeKeys: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as, { keyId }) => [
      [() => keys.batchRevokeKeys({ requests: [{ ...as, id: keyId }] }), { results: [notFoundItem] }],
    ],
  },
  updateKey: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as, { keyId }) => [
      [() => keys.updateKey({ ...as, id: keyId, name: 'Taken' }), 'not_found'],
      [() => keys.updateKey({ ...as, id: keyId, allowedIps: { cidrs: ['192.0.2.0/24'] } }), 'not_found'],
    ],
  },
  rollKey: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ keys }, as, { keyId }) => [[() => keys.rollKey({ ...as, id: keyId }), 'not_found']],
  },
  batchFindKeys: {
    keyedBy: 'installation',
    why: 'an operator looks up the owners of leaked key values',
    reveals: true,
    attempts: ({ keys }, { keyHash }) => [[() => keys.batchFindKeys({ keyHashes: [keyHash] }), {}]],
  },
  batchVerifyKeys: {
    keyedBy: 'installation',
    why: 'the gateway verifies a key; the hash is the proof',
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
    why: 'gateways report the requests of all workspaces',
  },
  listRequests: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ requests }, as, { requestId }) => [
      [() => requests.listRequests({ ...as, requestId }), { requests: [] }],
    ],
  },
  searchRequests: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ requests }, as, { pageTokens }) => [
      [() => requests.searchRequests({ ...as, pageSize: 100 }), { requests: [] }],
      [() => requests.searchRequests({ ...as, pageSize: 1, pageToken: pageTokens.audit }), 'invalid_request'],
    ],
  },
};

export const workspacesEntries: Entries<typeof WorkspacesService> = {
  createWorkspace: {
    keyedBy: 'installation',
    why: 'an operator creates workspaces',
    attempts: ({ workspaces }) => [[() => workspaces.createWorkspace({ name: ownersName }), {}]],
  },
  listWorkspaces: {
    keyedBy: 'installation',
    why: 'an operator lists all workspaces: names and plans, not their data',
    attempts: ({ workspaces }) => [[() => workspaces.listWorkspaces({}), {}]],
  },
  getWorkspace: {
    keyedBy: 'workspace',
    attempts: ({ workspaces }, { workspaceId }) => [
      [() => workspaces.getWorkspace({ workspaceId }), { workspace: { id: workspaceId } }],
    ],
  },
  bootstrapWorkspace: {
    keyedBy: 'installation',
    why: 'npm start creates the first workspace; if one exists, it returns no keys',
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

export const authLookupEntries: Entries<typeof LookupService> = {
  findWorkspaces: {
    keyedBy: 'installation',
    why: 'an operator finds the workspace of an object: its ID only',
    reveals: true,
    attempts: ({ lookup }, { keyId: id }) => [
      [() => lookup.findWorkspaces({ id }), {}],
      [() => lookup.findWorkspaces({ id: '' }), 'invalid_request'],
    ],
  },
};

export const plansEntries: Entries<typeof PlansService> = {
  setPlan: {
    keyedBy: 'installation',
    why: 'plans belong to the installation; they are assigned per workspace',
    attempts: ({ plans }) => [[() => plans.setPlan({ plan: { name: 'small', monthlyQuota: 1n } }), {}]],
  },
  deletePlan: {
    keyedBy: 'installation',
    why: 'plans belong to the installation; a plan that a workspace has stays',
    attempts: ({ plans }) => [[() => plans.deletePlan({ name: 'none' }), 'not_found']],
  },
  listPlans: {
    keyedBy: 'installation',
    why: 'plans belong to the installation',
    attempts: ({ plans }) => [[() => plans.listPlans({}), {}]],
  },
};

export const auditEntries: Entries<typeof AuditService> = {
  listAuditEntries: {
    keyedBy: 'tenant',
    unspecified: 'both',
    emptyWorkspace: 'entries of the installation itself, which belong to no workspace',
    attempts: ({ audit }, as, { keyId, webhookId, pageTokens }) => [
      [() => audit.listAuditEntries({ ...as, pageSize: 1_000, targetId: keyId }), { entries: [] }],
      [() => audit.listAuditEntries({ ...as, pageSize: 1_000, targetId: webhookId }), { entries: [] }],
      [() => audit.listAuditEntries({ ...as, pageSize: 1_000, pageToken: pageTokens.audit }), 'invalid_request'],
      [() => audit.listAuditEntries({ ...as, pageSize: 1, pageToken: pageTokens.webhooks }), 'invalid_request'],
    ],
  },
};
