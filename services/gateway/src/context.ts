import { type Limiter, openLimiter } from '@rms/limits';
import { Health } from '@rms/proto/grpc/health/v1/health_pb';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { countClientCalls, createClient, createRpcSecurity, type RpcClient, showCertificate } from '@rms/rpc';
import { createLogger, gatheringStdout, type Logger } from '@rms/runtime/logging';
import { createMetrics, type Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';

export interface GatewayContext {
  readonly auth: RpcClient<typeof KeysService>;
  readonly workspaces: RpcClient<typeof WorkspacesService>;
  readonly audit: RpcClient<typeof AuditService>;
  readonly members: RpcClient<typeof MembersService>;
  readonly invitations: RpcClient<typeof InvitationsService>;
  readonly portalSessions: RpcClient<typeof PortalSessionsService>;
  readonly keyUses: RpcClient<typeof KeyUsesService>;
  /** Receives and returns request counts. If undefined, requests are not counted. */
  readonly usage: RpcClient<typeof UsageService> | undefined;
  /** undefined if this installation has no alerts. */
  readonly alerts: RpcClient<typeof AlertsService> | undefined;
  readonly requests: RpcClient<typeof RequestsService>;
  readonly resources: RpcClient<typeof ResourcesService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly deliveries: RpcClient<typeof DeliveriesService>;
  readonly events: RpcClient<typeof EventsService>;
  /** Health clients of the services; alerts is missing if this installation has none. */
  readonly health: Readonly<Record<'auth' | 'resources' | 'webhooks', RpcClient<typeof Health>>> & {
    readonly alerts?: RpcClient<typeof Health>;
  };
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Timeouts of the calls to the services, in milliseconds. */
export interface CallTimeouts {
  /** A slower RPC fails, and the client gets 504. */
  readonly rpcMs: number;
  /** A service with a slower health call counts as down. */
  readonly healthMs: number;
}

/** With these timeouts, /readyz responds within a second. */
const defaultTimeouts: CallTimeouts = { rpcMs: 5_000, healthMs: 700 };

/** Creates the production dependencies. Tests and standalone override some of them. */
export function createGatewayContext(
  settings: Settings,
  overrides: Partial<GatewayContext> = {},
  { rpcMs, healthMs }: CallTimeouts = defaultTimeouts,
): GatewayContext {
  const log =
    overrides.log ??
    createLogger({
      name: 'gateway',
      level: settings.LOG_LEVEL,
      levelFile: settings.LOG_LEVEL_FILE,
      destination: gatheringStdout(),
    });
  const security = createRpcSecurity(settings, log);
  const metrics = overrides.metrics ?? createMetrics('gateway');
  const onCall = countClientCalls(metrics);
  showCertificate(metrics, security);
  const { ALERTS_ADDRESS: alerts } = settings;
  const client = (target: string) => ({ target, timeoutMs: rpcMs, security, onCall });
  const health = (target: string) => createClient(Health, { target, timeoutMs: healthMs, security, onCall });
  return {
    log,
    metrics,
    auth: overrides.auth ?? createClient(KeysService, client(settings.AUTH_ADDRESS)),
    workspaces: overrides.workspaces ?? createClient(WorkspacesService, client(settings.AUTH_ADDRESS)),
    members: overrides.members ?? createClient(MembersService, client(settings.AUTH_ADDRESS)),
    invitations: overrides.invitations ?? createClient(InvitationsService, client(settings.AUTH_ADDRESS)),
    portalSessions: overrides.portalSessions ?? createClient(PortalSessionsService, client(settings.AUTH_ADDRESS)),
    audit: overrides.audit ?? createClient(AuditService, client(settings.AUTH_ADDRESS)),
    keyUses: overrides.keyUses ?? createClient(KeyUsesService, client(settings.AUTH_ADDRESS)),
    usage: overrides.usage ?? (alerts === undefined ? undefined : createClient(UsageService, client(alerts))),
    alerts: overrides.alerts ?? (alerts === undefined ? undefined : createClient(AlertsService, client(alerts))),
    requests: overrides.requests ?? createClient(RequestsService, client(settings.AUTH_ADDRESS)),
    resources: overrides.resources ?? createClient(ResourcesService, client(settings.RESOURCES_ADDRESS)),
    webhooks: overrides.webhooks ?? createClient(WebhooksService, client(settings.WEBHOOKS_ADDRESS)),
    deliveries: overrides.deliveries ?? createClient(DeliveriesService, client(settings.WEBHOOKS_ADDRESS)),
    events: overrides.events ?? createClient(EventsService, client(settings.WEBHOOKS_ADDRESS)),
    health: overrides.health ?? {
      auth: health(settings.AUTH_ADDRESS),
      resources: health(settings.RESOURCES_ADDRESS),
      webhooks: health(settings.WEBHOOKS_ADDRESS),
      ...(alerts === undefined ? {} : { alerts: health(alerts) }),
    },
    limiter: overrides.limiter ?? openLimiter(settings, { log, metrics }),
  };
}
