import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { generateApiKey, hashOfApiKey } from '@rms/base/api-key';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import {
  KeyUsesService,
  type ReportedKeyRefusal,
  type ReportedKeyUse,
} from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService, KeyVerdict, type LimitsSchema } from '@rms/proto/rms/auth/v1/keys_service_pb';
import {
  type RequestSchema,
  RequestsService,
  type SearchRequestsRequest,
} from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { rpcService } from '@rms/rpc';

export interface FakeKey {
  readonly value: string;
  readonly keyId: string;
  readonly workspaceId: string;
  scope: keyof typeof scopes;
  verdict: KeyVerdict;
  allowedIps: string[];
  expiresAt: Date | undefined;
  version: number;
  limits: MessageInitShape<typeof LimitsSchema>;
}

const scopes = { read: Scope.READ, write: Scope.WRITE, admin: Scope.ADMIN };

/** One reported request. */
export interface ReportedRequest extends Record<string, unknown> {
  readonly requestId: string;
  readonly startTimeUs: number | undefined;
  readonly steps: readonly (number | undefined)[];
}

/** An in-memory auth service with keys that the test creates and changes. */
export class FakeAuth {
  readonly #keys = new Map<string, FakeKey>();
  /** Number of key lookups; a batch counts each of its keys. */
  lookups = 0;
  batches = 0;
  /** Awaited after the verdicts are determined and before the response is sent. */
  beforeResponse: () => Promise<void> = async () => {};

  newKey(scope: FakeKey['scope'], options: Partial<FakeKey> & { environment?: 'live' | 'sandbox' } = {}): FakeKey {
    const { environment = 'live', ...changes } = options;
    const key: FakeKey = {
      value: generateApiKey(environment),
      keyId: newId('key'),
      workspaceId: newId('ws'),
      scope,
      verdict: KeyVerdict.VALID,
      allowedIps: [],
      expiresAt: undefined,
      version: 1,
      limits: {},
      ...changes,
    };
    this.#keys.set(hashOfApiKey(key.value).toString('hex'), key);
    return key;
  }

  /** Reported refusals of keys. */
  readonly refusals: ReportedKeyRefusal[] = [];

  /** Reported uses of keys. */
  readonly uses: ReportedKeyUse[] = [];

  readonly usesService = rpcService(KeyUsesService, {
    batchReportKeyUses: async ({ uses, refusals }) => {
      this.uses.push(...uses);
      this.refusals.push(...refusals);
      return {};
    },
  });

  /** Reported requests. */
  readonly requests: ReportedRequest[] = [];

  /** Stored requests. */
  readonly logged: MessageInitShape<typeof RequestSchema>[] = [];
  readonly searches: SearchRequestsRequest[] = [];

  readonly requestsService = rpcService(RequestsService, {
    batchReportRequests: async ({ columns: report }) => {
      if (!report) throw new Error('there are no columns');
      this.requests.push(
        ...report.requestIds.map((requestId, i) => ({
          requestId,
          workspaceId: report.workspaceIds[i],
          environment: report.environments[i],
          startTimeUs: report.startTimesUs[i],
          traceId: report.traceIds[i],
          method: report.methods[i],
          route: report.routes[i],
          path: report.paths[i],
          clientAddress: report.clientAddresses[i],
          status: report.statuses[i],
          errorCode: report.errorCodes[i],
          keyId: report.keyIds[i],
          steps: [report.authenticatedMs[i], report.limitedMs[i], report.handledMs[i], report.durationsMs[i]],
        })),
      );
      return {};
    },
    listRequests: async (request) => {
      const { workspaceId, requestId } = request;
      return { requests: this.logged.filter((one) => one.workspaceId === workspaceId && one.requestId === requestId) };
    },
    searchRequests: async (request) => {
      this.searches.push(request);
      return { requests: [...this.logged], page: 1, pageSize: request.pageSize, leftOut: 12n };
    },
    summarizeFailures: notForGateways,
  });

  readonly auditService = rpcService(AuditService, {
    listAuditEntries: async ({ pageSize }) => ({ entries: [], page: 1, pageSize }),
  });

  readonly workspacesService = rpcService(WorkspacesService, {
    getWorkspace: async ({ workspaceId: id }) => ({
      workspace: { id, name: 'Workspace', createTime: timestampFromDate(new Date(0)) },
      keyCount: 1n,
      maxKeys: 1_000n,
    }),
    createWorkspace: notForGateways,
    listWorkspaces: notForGateways,
    bootstrapWorkspace: notForGateways,
    setWorkspacePlan: notForGateways,
  });

  readonly service = rpcService(KeysService, {
    batchVerifyKeys: async ({ requests }) => {
      this.batches += 1;
      this.lookups += requests.length;
      const results = requests.map(({ keyHash, environment }) => {
        const key = this.#keys.get(Buffer.from(keyHash).toString('hex'));
        if (key?.verdict !== KeyVerdict.VALID)
          return { verdict: key?.verdict ?? KeyVerdict.INVALID, exists: key !== undefined };
        return {
          verdict: KeyVerdict.VALID,
          principal: { workspaceId: key.workspaceId, environment, keyId: key.keyId, scope: scopes[key.scope] },
          allowedIps: [...key.allowedIps],
          version: BigInt(key.version),
          limits: key.limits,
          ...(key.expiresAt ? { expireTime: timestampFromDate(key.expiresAt) } : {}),
        };
      });
      await this.beforeResponse();
      return { results };
    },
    createKey: notForGateways,
    listKeys: notForGateways,
    getKey: notForGateways,
    updateKey: notForGateways,
    rollKey: notForGateways,
    revokeKey: notForGateways,
    batchRevokeKeys: notForGateways,
    batchFindKeys: notForGateways,
  });
}

async function notForGateways(): Promise<never> {
  throw new RmsError('internal_error', { cause: new Error('the gateway does not call this') });
}
