import { type EventBus, openBus } from '@rms/bus';
import { openPool, type Pool } from '@rms/db';
import { type Limiter, openLimiter } from '@rms/limiter';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { MailRequestsService } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity, type RpcClient, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, type Logger, type Metrics, type Settings } from '@rms/service';

/** The methods of auth that are called here. */
export interface Auth {
  readonly keys: Pick<RpcClient<typeof KeysService>, 'listKeys' | 'close'>;
  readonly workspaces: Pick<RpcClient<typeof WorkspacesService>, 'listWorkspaces' | 'close'>;
  readonly members: Pick<RpcClient<typeof MembersService>, 'listMembers' | 'close'>;
  readonly mailRequests: Pick<
    RpcClient<typeof MailRequestsService>,
    'leaseMailRequests' | 'deleteMailRequests' | 'close'
  >;
}

export interface AlertsContext {
  readonly pool: Pool;
  readonly bus: EventBus;
  /** Where gateways count the quota. */
  readonly limiter: Pick<Limiter, 'raiseQuotas' | 'onMarksLost' | 'start' | 'stop'>;
  readonly auth: Auth;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How callers are known. */
  readonly security: RpcSecurity;
  /** The time by which rules are looked at; default: the clock. */
  readonly now?: () => number;
}

const authTimeoutMs = 5_000;

/** The real parts; a test or standalone passes its own for some of them. */
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
      mailRequests: createClient(MailRequestsService, auth),
    },
  };
}
