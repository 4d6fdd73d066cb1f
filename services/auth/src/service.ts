import { showPools } from '@rms/db';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { createSecretBox } from '@rms/secrets';
import { showHousekeeping } from '@rms/service';
import { callers } from './callers.ts';
import type { AuthConfig } from './config.ts';
import type { AuthContext } from './context.ts';
import { createHousekeeping } from './housekeeping.ts';
import { createMarks } from './key/marks.ts';
import { createAuthMetrics } from './metrics.ts';
import { peopleServices } from './people-services.ts';
import { batchFindKeys } from './rpc/batch-find-keys.ts';
import { batchReportKeyUses } from './rpc/batch-report-key-uses.ts';
import { batchReportRequests } from './rpc/batch-report-requests.ts';
import { batchRevokeKeys } from './rpc/batch-revoke-keys.ts';
import { batchVerifyKeys } from './rpc/batch-verify-keys.ts';
import { bootstrapWorkspace } from './rpc/bootstrap-workspace.ts';
import { createKey } from './rpc/create-key.ts';
import { createWorkspace } from './rpc/create-workspace.ts';
import type { HandlerParts } from './rpc/handler.ts';
import { listAuditEntries } from './rpc/list-audit-entries.ts';
import { listKeys } from './rpc/list-keys.ts';
import { listPlans } from './rpc/list-plans.ts';
import { listRequests } from './rpc/list-requests.ts';
import { listWorkspaces } from './rpc/list-workspaces.ts';
import { revokeKey } from './rpc/revoke-key.ts';
import { rollKey } from './rpc/roll-key.ts';
import { setPlan } from './rpc/set-plan.ts';
import { setWorkspacePlan } from './rpc/set-workspace-plan.ts';
import { updateKey } from './rpc/update-key.ts';
import { createThrottle } from './sign-in/throttle.ts';

/** Workspaces, their plans and API keys, who uses those, people, and the audit log. */
export function createAuth(config: AuthConfig, context: AuthContext): GrpcService {
  const { pool, limiter, passwords, log } = context;
  const { host, port, metricsAddress, secretKeys, challengeKeys, throttleKeys } = config;
  const metrics = createAuthMetrics(context.metrics);
  showPools(context.metrics, { auth: pool });
  const marks = createMarks({ pool, limiter, log, metrics });
  const [secretKey, ...previousKeys] = secretKeys;
  const parts: HandlerParts = {
    pool,
    marks,
    metrics,
    passwords,
    throttle: createThrottle(throttleKeys),
    box: createSecretBox(secretKey, previousKeys),
    challengeKeys,
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
    services: [
      rpcService(KeysService, {
        createKey: createKey(parts),
        listKeys: listKeys(parts),
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
      }),
      rpcService(WorkspacesService, {
        createWorkspace: createWorkspace(parts),
        listWorkspaces: listWorkspaces(parts),
        bootstrapWorkspace: bootstrapWorkspace(parts),
        setWorkspacePlan: setWorkspacePlan(parts),
      }),
      rpcService(PlansService, { setPlan: setPlan(parts), listPlans: listPlans(parts) }),
      rpcService(AuditService, { listAuditEntries: listAuditEntries(parts) }),
      ...peopleServices(parts),
    ],
    workers: [
      marks.worker,
      createHousekeeping({
        pool,
        log,
        requestLogDays: config.requestLogDays,
        onSuccess: showHousekeeping(context.metrics),
      }),
    ],
    checks: {
      async database() {
        await pool.query('select 1');
      },
    },
    async open() {
      await limiter.start();
    },
    async close() {
      await limiter.stop();
      await pool.end();
    },
  });
}
