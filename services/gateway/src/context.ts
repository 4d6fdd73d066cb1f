import { type Limiter, openLimiter } from '@rms/limiter';
import { Health } from '@rms/proto/grpc/health/v1/health_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { countClientCalls, createClient, createRpcSecurity, type RpcClient, showCertificate } from '@rms/rpc';
import { createLogger, createMetrics, gatheringStdout, type Logger, type Metrics, type Settings } from '@rms/service';

export interface GatewayContext {
  readonly auth: RpcClient<typeof KeysService>;
  readonly keyUses: RpcClient<typeof KeyUsesService>;
  readonly usage: RpcClient<typeof UsageService>;
  readonly requests: RpcClient<typeof RequestsService>;
  readonly resources: RpcClient<typeof ResourcesService>;
  readonly webhooks: RpcClient<typeof WebhooksService>;
  readonly events: RpcClient<typeof EventsService>;
  /** The health service of each of the three. */
  readonly health: Readonly<Record<'auth' | 'resources' | 'webhooks', RpcClient<typeof Health>>>;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** A call that takes longer is answered with 504. */
const rpcTimeoutMs = 5_000;
/** Readiness answers within a second. */
const healthTimeoutMs = 700;

/** The real parts; a test or standalone passes its own for some of them. */
export function createGatewayContext(settings: Settings, overrides: Partial<GatewayContext> = {}): GatewayContext {
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
  const client = (target: string) => ({ target, timeoutMs: rpcTimeoutMs, security, onCall });
  const health = (target: string) => createClient(Health, { target, timeoutMs: healthTimeoutMs, security, onCall });
  return {
    log,
    metrics,
    auth: overrides.auth ?? createClient(KeysService, client(settings.AUTH_ADDRESS)),
    keyUses: overrides.keyUses ?? createClient(KeyUsesService, client(settings.AUTH_ADDRESS)),
    usage: overrides.usage ?? createClient(UsageService, client(settings.ALERTS_ADDRESS)),
    requests: overrides.requests ?? createClient(RequestsService, client(settings.AUTH_ADDRESS)),
    resources: overrides.resources ?? createClient(ResourcesService, client(settings.RESOURCES_ADDRESS)),
    webhooks: overrides.webhooks ?? createClient(WebhooksService, client(settings.WEBHOOKS_ADDRESS)),
    events: overrides.events ?? createClient(EventsService, client(settings.WEBHOOKS_ADDRESS)),
    health: overrides.health ?? {
      auth: health(settings.AUTH_ADDRESS),
      resources: health(settings.RESOURCES_ADDRESS),
      webhooks: health(settings.WEBHOOKS_ADDRESS),
    },
    limiter: overrides.limiter ?? openLimiter(settings, { log, metrics }),
  };
}
