import { createSecretBox } from '@rms/base/secrets';
import { createDatabaseWatch, showPools, translatePgError } from '@rms/postgres/db';
import { Idempotency } from '@rms/postgres/idempotency';
import { listingHandlers, queuedEvents } from '@rms/postgres/operational-events';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { callers } from './callers.ts';
import type { AuthConfig } from './config.ts';
import type { AuthContext } from './context.ts';
import { createHousekeeping } from './housekeeping.ts';
import { createMarkers } from './key/markers.ts';
import { createAuthMetrics } from './metrics.ts';
import { requestPartitions } from './request/request-log.ts';
import { batchFindKeys } from './rpc/batch-find-keys.ts';
import { batchReportKeyUses } from './rpc/batch-report-key-uses.ts';
import { batchReportRequests } from './rpc/batch-report-requests.ts';
import { batchRevokeKeys } from './rpc/batch-revoke-keys.ts';
import { batchVerifyKeys } from './rpc/batch-verify-keys.ts';
import { beginDeletion } from './rpc/begin-deletion.ts';
import { bootstrapWorkspace } from './rpc/bootstrap-workspace.ts';
import { completeDeletion } from './rpc/complete-deletion.ts';
import { countContents } from './rpc/count-contents.ts';
import { createKey } from './rpc/create-key.ts';
import { createWorkspace } from './rpc/create-workspace.ts';
import { deleteContents } from './rpc/delete-contents.ts';
import { deletePlan } from './rpc/delete-plan.ts';
import { findWorkspaces } from './rpc/find-workspaces.ts';
import { getKey } from './rpc/get-key.ts';
import { getWorkspace } from './rpc/get-workspace.ts';
import type { HandlerParts } from './rpc/handler.ts';
import { listAuditEntries } from './rpc/list-audit-entries.ts';
import { listKeys } from './rpc/list-keys.ts';
import { listPlans } from './rpc/list-plans.ts';
import { listRequests } from './rpc/list-requests.ts';
import { listWorkspaces } from './rpc/list-workspaces.ts';
import { revokeKey } from './rpc/revoke-key.ts';
import { rollKey } from './rpc/roll-key.ts';
import { searchRequests } from './rpc/search-requests.ts';
import { setPlan } from './rpc/set-plan.ts';
import { setWorkspacePlan } from './rpc/set-workspace-plan.ts';
import { summarizeFailures } from './rpc/summarize-failures.ts';
import { updateKey } from './rpc/update-key.ts';
import { answerContext } from './sealed/sealed-stores.ts';
import { createThrottle } from './sign-in/throttle.ts';
import { userServices } from './user-services.ts';

/** The rows that the database watch looks for; see createDatabaseWatch. */
const queues = { emails: 'select from auth.email_requests order by id', operational: queuedEvents('auth') };

/** Creates the auth service: workspaces, plans, API keys and their uses, users, and the audit log. */
export function createAuth(config: AuthConfig, context: AuthContext): GrpcService {
  const { pool, limiter, passwords, log } = context;
  const { host, port, metricsAddress, secretKeys, challengeKeys, throttleKeys, pageTokenKeys } = config;
  const { maxKeys, maxMembers, maxInvitations } = config;
  const metrics = createAuthMetrics(context.metrics);
  showPools(context.metrics, { auth: pool });
  const markers = createMarkers({ pool, limiter, log, metrics });
  const [secretKey, ...previousKeys] = secretKeys;
  const box = createSecretBox(secretKey, previousKeys);
  const watch = createDatabaseWatch(pool, queues);
  const parts: HandlerParts = {
    pool,
    time: watch.time,
    ...watch.queues,
    markers,
    metrics,
    passwords,
    throttle: createThrottle(throttleKeys),
    box,
    idempotency: new Idempotency({ pool, box, schema: 'auth', contextOf: ({ key }) => answerContext(key) }),
    pageTokenKeys,
    challengeKeys,
    ...{ maxKeys, maxMembers, maxInvitations },
    log,
  };
  return createGrpcService({
    name: 'auth',
    host,
    port,
    metricsAddress,
    log,
    metrics: context.metrics,
    security: context.security,
    callers,
    translateError: translatePgError,
    services: [
      rpcService(KeysService, {
        createKey: createKey(parts),
        listKeys: listKeys(parts),
        getKey: getKey(parts),
        updateKey: updateKey(parts),
        rollKey: rollKey(parts),
        revokeKey: revokeKey(parts),
        batchRevokeKeys: batchRevokeKeys(parts),
        batchFindKeys: batchFindKeys(parts),
        batchVerifyKeys: batchVerifyKeys(parts),
      }),
      rpcService(KeyUsesService, { batchReportKeyUses: batchReportKeyUses(parts) }),
      rpcService(RequestsService, {
        batchReportRequests: batchReportRequests(parts),
        listRequests: listRequests(parts),
        searchRequests: searchRequests(parts),
        summarizeFailures: summarizeFailures(parts),
      }),
      rpcService(WorkspacesService, {
        createWorkspace: createWorkspace(parts),
        listWorkspaces: listWorkspaces(parts),
        getWorkspace: getWorkspace(parts),
        bootstrapWorkspace: bootstrapWorkspace(parts),
        setWorkspacePlan: setWorkspacePlan(parts),
      }),
      rpcService(WorkspaceDeletionService, {
        countContents: countContents(parts),
        beginDeletion: beginDeletion(parts),
        deleteContents: deleteContents(parts),
        completeDeletion: completeDeletion(parts),
      }),
      rpcService(LookupService, { findWorkspaces: findWorkspaces(parts) }),
      rpcService(PlansService, {
        setPlan: setPlan(parts),
        listPlans: listPlans(parts),
        deletePlan: deletePlan(parts),
      }),
      rpcService(OperationalEventsService, listingHandlers(pool, 'auth', parts.operational)),
      rpcService(AuditService, { listAuditEntries: listAuditEntries(parts) }),
      ...userServices(parts),
    ],
    workers: [
      watch.worker,
      markers.worker,
      createHousekeeping({ pool, log, requestLogDays: config.requestLogDays, metrics: context.metrics }),
    ],
    checks: {
      database: watch.check,
    },
    async open() {
      await Promise.all([watch.start(), limiter.start()]);
      await requestPartitions.checkLocks(pool, {
        setting: 'REQUEST_LOG_DAYS',
        retentionDays: config.requestLogDays,
        connections: pool.options.max,
      });
    },
    async close() {
      await limiter.stop();
      await pool.end();
    },
  });
}
