import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { countClientCalls, createClient, createRpcSecurity, type RpcClient, showCertificate } from '@rms/rpc';
import { createLogger, gatheringStdout, type Logger } from '@rms/runtime/logging';
import { createMetrics, type Metrics } from '@rms/runtime/metrics';
import { type Settings, SettingsError } from '@rms/runtime/settings';
import { openSessionStore } from './session/redis-session-store.ts';
import type { SessionStore } from './session/session.ts';

/** RPC clients of the services. */
export interface Backend {
  readonly signIn: RpcClient<typeof SignInService>;
  readonly users: RpcClient<typeof UsersService>;
  readonly passwords: RpcClient<typeof PasswordsService>;
  readonly secondFactors: RpcClient<typeof SecondFactorsService>;
  readonly members: RpcClient<typeof MembersService>;
  readonly invitations: RpcClient<typeof InvitationsService>;
  readonly keys: RpcClient<typeof KeysService>;
  readonly workspaces: RpcClient<typeof WorkspacesService>;
  readonly portalSessions: RpcClient<typeof PortalSessionsService>;
  readonly requests: RpcClient<typeof RequestsService>;
  readonly audit: RpcClient<typeof AuditService>;
  readonly alerts: RpcClient<typeof AlertsService>;
  readonly usage: RpcClient<typeof UsageService>;
  readonly resources: RpcClient<typeof ResourcesService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly deliveries: RpcClient<typeof DeliveriesService>;
  readonly events: RpcClient<typeof EventsService>;
}

export interface DashboardContext {
  readonly backend: Backend;
  readonly sessions: SessionStore;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Deadline of an RPC; a call that exceeds it fails with 504. Revoking a key waits for all gateways, which can take
 * seconds.
 */
const rpcTimeoutMs = 15_000;

/** Creates the dependencies. Tests and standalone override some of them. */
export function createDashboardContext(
  settings: Settings,
  overrides: Partial<DashboardContext> = {},
): DashboardContext {
  const log =
    overrides.log ??
    createLogger({
      name: 'dashboard',
      level: settings.LOG_LEVEL,
      levelFile: settings.LOG_LEVEL_FILE,
      destination: gatheringStdout(),
    });
  const metrics = overrides.metrics ?? createMetrics('dashboard');
  return {
    log,
    metrics,
    backend: overrides.backend ?? createBackend(settings, { log, metrics }),
    sessions: overrides.sessions ?? openSessionStore(settings, log),
  };
}

function createBackend(settings: Settings, { log, metrics }: Pick<DashboardContext, 'log' | 'metrics'>): Backend {
  const security = createRpcSecurity(settings, log);
  const onCall = countClientCalls(metrics);
  showCertificate(metrics, security);
  const at = (target: string) => ({ target, timeoutMs: rpcTimeoutMs, security, onCall });
  const auth = at(settings.AUTH_ADDRESS);
  if (settings.ALERTS_ADDRESS === undefined)
    throw new SettingsError('ALERTS_ADDRESS must not be "none": the dashboard requires alerts.');
  const alerts = at(settings.ALERTS_ADDRESS);
  const webhooks = at(settings.WEBHOOKS_ADDRESS);
  return {
    signIn: createClient(SignInService, auth),
    users: createClient(UsersService, auth),
    passwords: createClient(PasswordsService, auth),
    secondFactors: createClient(SecondFactorsService, auth),
    members: createClient(MembersService, auth),
    invitations: createClient(InvitationsService, auth),
    keys: createClient(KeysService, auth),
    workspaces: createClient(WorkspacesService, auth),
    portalSessions: createClient(PortalSessionsService, auth),
    requests: createClient(RequestsService, auth),
    audit: createClient(AuditService, auth),
    alerts: createClient(AlertsService, alerts),
    usage: createClient(UsageService, alerts),
    resources: createClient(ResourcesService, at(settings.RESOURCES_ADDRESS)),
    webhooks: createClient(WebhooksService, webhooks),
    deliveries: createClient(DeliveriesService, webhooks),
    events: createClient(EventsService, webhooks),
  };
}
