import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type Entries, inBoth, inOne, inWorkspace, notFoundItem, ofInstallation } from './entry.ts';
import { idempotencyKey, ownersName } from './owned.ts';

export const authEntries: Entries<
  'keys' | 'keyUses' | 'portalSessions' | 'requests' | 'workspaces' | 'lookup' | 'plans' | 'audit' | 'operationalEvents'
> = {
  operationalEvents: {
    listOperationalEvents: ofInstallation('the webhooks service fetches the events of all workspaces', () => [
      [{ limit: 0 }, 'invalid_request'],
    ]),
    deleteOperationalEvents: ofInstallation('the webhooks service has stored them', () => [[{ events: [] }, {}]]),
  },
  keys: {
    createKey: inOne((_, as) => [
      [{ scope: Scope.READ, name: ownersName }, { key: { ...as, uses: [] } }],
      [
        { scope: Scope.ADMIN, name: ownersName, idempotencyKey },
        { key: { ...as, uses: [] }, replayed: false },
      ],
    ]),
    listKeys: inBoth(({ pageTokens }) => [
      [{}, {}],
      [{ namePart: ownersName }, {}],
      [{ pageSize: 1, pageToken: pageTokens.keys }, 'invalid_request'],
    ]),
    getKey: inBoth(({ keyId: id }) => [[{ id }, 'not_found']]),
    revokeKey: inBoth(({ keyId: id }) => [[{ id }, 'not_found']]),
    batchRevokeKeys: inBoth(({ keyId: id }, as) => [[{ requests: [{ ...as, id }] }, { results: [notFoundItem] }]]),
    updateKey: inBoth(({ keyId: id }) => [
      [{ id, name: 'Taken' }, 'not_found'],
      [{ id, allowedIps: { cidrs: ['192.0.2.0/24'] } }, 'not_found'],
    ]),
    rollKey: inBoth(({ keyId: id }) => [[{ id }, 'not_found']]),
    batchFindKeys: ofInstallation(
      'an operator looks up the owners of leaked key values',
      ({ keyHash }) => [[{ keyHashes: [keyHash] }, {}]],
      { reveals: true },
    ),
    batchVerifyKeys: ofInstallation('the gateway verifies a key; the hash is the proof', ({ keyHash, keyId }) => [
      [
        { requests: [{ keyHash, environment: Environment.SANDBOX }] },
        { results: [{ verdict: KeyVerdict.INVALID, exists: true }] },
      ],
      [
        { requests: [{ keyHash: Buffer.from(keyId), environment: Environment.LIVE }] },
        { results: [{ verdict: KeyVerdict.INVALID, exists: false }] },
      ],
      [{ requests: [{ keyHash, environment: 99 as Environment }] }, 'invalid_request'],
      [{ requests: [{ keyHash }] }, 'invalid_request'],
    ]),
  },
  keyUses: {
    batchReportKeyUses: inOne(({ keyId }, as) => [
      [{ uses: [{ ...as, keyId, address: '198.51.100.1', userAgent: 'stranger', requests: 1_000n }] }, {}],
    ]),
  },
  portalSessions: {
    // For the key of a context only.
    createPortalSession: inOne(() => [[{ lifetime: durationFromMs(60_000) }, 'invalid_api_key']]),
    openPortalSession: ofInstallation('the dashboard opens a link; its token is the proof', ({ keyId }) => [
      [{ linkToken: keyId }, 'not_found'],
    ]),
    checkPortalSession: ofInstallation('the dashboard checks a session; its token is the proof', ({ keyId }) => [
      [{ token: keyId }, {}],
    ]),
  },
  requests: {
    batchReportRequests: ofInstallation('gateways report the requests of all workspaces'),
    listRequests: inBoth(({ requestId }) => [[{ requestId }, { requests: [] }]]),
    searchRequests: inBoth(({ pageTokens }) => [
      [{ pageSize: 100 }, { requests: [] }],
      [{ pageSize: 1, pageToken: pageTokens.audit }, 'invalid_request'],
    ]),
    summarizeFailures: inBoth(() => [
      [
        { since: timestampFromMs(0), until: timestampFromMs(Date.now()) },
        { requests: 0, keyId: '' },
      ],
    ]),
  },
  workspaces: {
    createWorkspace: ofInstallation('an operator creates workspaces', () => [[{ name: ownersName }, {}]]),
    listWorkspaces: ofInstallation('an operator lists all workspaces: names and plans, not their data', () => [
      [{}, {}],
    ]),
    getWorkspace: inWorkspace((_, { workspaceId: id }) => [[{}, { workspace: { id } }]]),
    bootstrapWorkspace: ofInstallation(
      'npm start creates the first workspace; if one exists, it returns no keys',
      () => [[{ name: ownersName }, { created: false, keys: [], keyValues: [] }]],
    ),
    setWorkspacePlan: inWorkspace((_, { workspaceId: id }) => [
      [{ plan: '' }, { workspace: { id, plan: '' } }],
      [{ plan: 'no-such-plan' }, 'not_found'],
    ]),
  },
  lookup: {
    findWorkspaces: ofInstallation(
      'an operator finds the workspace of an object: its ID only',
      ({ keyId: id }) => [
        [{ id }, {}],
        [{ id: '' }, 'invalid_request'],
      ],
      { reveals: true },
    ),
  },
  plans: {
    setPlan: ofInstallation('plans belong to the installation; they are assigned per workspace', () => [
      [{ plan: { name: 'small', monthlyQuota: 1n } }, {}],
    ]),
    deletePlan: ofInstallation('plans belong to the installation; a plan that a workspace has stays', () => [
      [{ name: 'none' }, 'not_found'],
    ]),
    listPlans: ofInstallation('plans belong to the installation', () => [[{}, {}]]),
  },
  audit: {
    listAuditEntries: inBoth(
      ({ keyId, webhookId, pageTokens }) => [
        [{ pageSize: 1_000, targetId: keyId }, { entries: [] }],
        [{ pageSize: 1_000, targetId: webhookId }, { entries: [] }],
        [{ pageSize: 1_000, pageToken: pageTokens.audit }, 'invalid_request'],
        [{ pageSize: 1, pageToken: pageTokens.webhooks }, 'invalid_request'],
      ],
      { emptyWorkspace: 'entries of the installation itself, which belong to no workspace' },
    ),
  },
};
