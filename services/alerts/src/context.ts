import { type EventBus, openBus } from '@rms/bus';
import { type Limiter, openLimiter } from '@rms/limits';
import { openPool, type Pool } from '@rms/postgres/db';
import { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity, type RpcClient, type RpcSecurity } from '@rms/rpc';
import { createLogger, type Logger } from '@rms/runtime/logging';
import { createMetrics, type Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';

/** The methods of auth that this service calls. */
export interface Auth {
  readonly keys: Pick<RpcClient<typeof KeysService>, 'listKeys' | 'close'>;
  readonly workspaces: Pick<RpcClient<typeof WorkspacesService>, 'listWorkspaces' | 'getWorkspace' | 'close'>;
  readonly members: Pick<RpcClient<typeof MembersService>, 'listMembers' | 'close'>;
  readonly emailRequests: Pick<
    RpcClient<typeof EmailRequestsService>,
    'leaseEmailRequests' | 'deleteEmailRequests' | 'close'
  >;
  readonly requests: Pick<RpcClient<typeof RequestsService>, 'summarizeFailures' | 'close'>;
}

export interface AlertsContext {
  readonly pool: Pool;
  readonly bus: EventBus;
  /** Holds the quota counters that gateways increment. */
  readonly limiter: Pick<Limiter, 'raiseQuotas' | 'onMarkersLost' | 'start' | 'stop'>;
  readonly auth: Auth;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Identifies and authorizes RPC callers. */
  readonly security: RpcSecurity;
  /** Clock for rule evaluation. Defaults to the database's clock. */
  readonly now?: () => number;
}

const authTimeoutMs = 5_000;

/** Creates the production dependencies. Tests and standalone override some of them. */
export function createAlertsContext(settings: Settings, overrides: Partial<AlertsContext> = {}): AlertsContext {
  const log =
    overrides.log ?? createLogger({ name: 'alerts', level: settings.LOG_LEVEL, levelFile: settings.LOG_LEVEL_FILE });
  const security = overrides.security ?? createRpcSecurity(settings, log);
  const auth = { target: settings.AUTH_ADDRESS, timeoutMs: authTimeoutMs, security };
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('alerts'),
    security,
    pool: overrides.pool ?? openPool(settings, { name: 'rms-alerts', role: 'alerts', log }),
    bus: overrides.bus ?? openBus(settings, { name: 'rms-alerts', log }),
    limiter: overrides.limiter ?? openLimiter(settings, { log }),
    auth: overrides.auth ?? {
      keys: createClient(KeysService, auth),
      workspaces: createClient(WorkspacesService, auth),
      members: createClient(MembersService, auth),
      emailRequests: createClient(EmailRequestsService, auth),
      requests: createClient(RequestsService, auth),
    },
  };
}
