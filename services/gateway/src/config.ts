import type { WebhookUrls } from '@rms/api';
import type { CidrList } from '@rms/base/cidr';
import type { Limits } from '@rms/limits';
import { isEveryAddress, localUrl, readTrustedProxies } from '@rms/net/http';
import type { MetricsAddress } from '@rms/runtime/service';
import type { Settings } from '@rms/runtime/settings';
import type { RequestLogScope } from './requests/request-log.ts';

export interface GatewayConfig {
  readonly host: string;
  readonly livePort: number;
  readonly sandboxPort: number;
  /** Base URL of links. If undefined, the request's own host is used. */
  readonly publicLiveUrl: string | undefined;
  readonly publicSandboxUrl: string | undefined;
  /** URL of the dashboard, for links to the portal. If undefined, none that clients can reach is known. */
  readonly dashboardUrl: string | undefined;
  /**
   * URL of the published error catalog that the `doc_url` of errors links to. If undefined, errors have no `doc_url`.
   */
  readonly errorCatalogUrl: string | undefined;
  readonly trustedProxies: CidrList;
  /** Whether a request continues the trace in its `traceparent` header. */
  readonly trustTraceparent: boolean;
  /** Which requests are reported to the request log in auth. */
  readonly requestLog: RequestLogScope;
  /** Per listener. */
  readonly maxConnections: number;
  /** Per client address, except trusted proxies. 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  readonly maxHeadersKib: number;
  /** Idle time until connections are closed. */
  readonly keepAliveMs: number;
  /** Defaults for workspaces with a plan that sets none. */
  readonly limits: Limits;
  /** Failed authentications per client network and minute, for error messages. The limiter enforces the limit. */
  readonly authFailureLimit: number;
  /** URLs that webhooks may have, for the OpenAPI document. The webhooks service enforces them. */
  readonly webhookUrls: WebhookUrls;
  /** If undefined, no metrics are served. */
  readonly metricsAddress: MetricsAddress | undefined;
}

export function readGatewayConfig(settings: Settings): GatewayConfig {
  return {
    host: settings.HOST,
    livePort: settings.PORT,
    sandboxPort: settings.SANDBOX_PORT,
    publicLiveUrl: settings.PUBLIC_API_URL,
    publicSandboxUrl: settings.PUBLIC_SANDBOX_URL,
    dashboardUrl:
      settings.DASHBOARD_URL ??
      (isEveryAddress(settings.HOST) ? undefined : localUrl(settings.HOST, settings.DASHBOARD_PORT)),
    errorCatalogUrl: settings.ERROR_CATALOG_URL,
    trustedProxies: readTrustedProxies(settings.TRUSTED_PROXIES),
    trustTraceparent: settings.TRUST_TRACEPARENT,
    requestLog: settings.REQUEST_LOG,
    maxConnections: settings.MAX_CONNECTIONS,
    maxConnectionsPerAddress: settings.MAX_CONNECTIONS_PER_ADDRESS,
    maxHeadersKib: settings.MAX_HEADERS_KIB,
    keepAliveMs: settings.KEEP_ALIVE_SECONDS * 1_000,
    limits: {
      rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
      workspaceRateLimitRequests: settings.WORKSPACE_RATE_LIMIT_REQUESTS,
      rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      monthlyQuota: settings.MONTHLY_QUOTA,
    },
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
    webhookUrls: { http: settings.WEBHOOK_ALLOW_HTTP, privateNetworks: settings.WEBHOOK_ALLOW_CIDRS.length > 0 },
    metricsAddress: settings.METRICS_ADDRESS,
  };
}
