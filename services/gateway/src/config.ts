import { type CidrList, readTrustedProxies } from '@rms/http';
import type { Limits } from '@rms/limiter';
import type { MetricsAddress, Settings } from '@rms/service';
import type { RequestLogScope } from './requests/request-log.ts';

export interface GatewayConfig {
  readonly host: string;
  readonly livePort: number;
  readonly sandboxPort: number;
  /** Base of links; undefined: the request's own host. */
  readonly publicLiveUrl: string | undefined;
  readonly publicSandboxUrl: string | undefined;
  readonly trustedProxies: CidrList;
  /** Whether a request continues the trace that its client names. */
  readonly trustTraceparent: boolean;
  /** Which requests are told of to auth. */
  readonly requestLog: RequestLogScope;
  /** Of each listener. */
  readonly maxConnections: number;
  /** Limits of keys and workspaces that have none of their own. */
  readonly limits: Limits;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
}

export function readGatewayConfig(settings: Settings): GatewayConfig {
  return {
    host: settings.HOST,
    livePort: settings.PORT,
    sandboxPort: settings.SANDBOX_PORT,
    publicLiveUrl: settings.PUBLIC_API_URL,
    publicSandboxUrl: settings.PUBLIC_SANDBOX_URL,
    trustedProxies: readTrustedProxies(settings.TRUSTED_PROXIES),
    trustTraceparent: settings.TRUST_TRACEPARENT,
    requestLog: settings.REQUEST_LOG,
    maxConnections: settings.MAX_CONNECTIONS,
    limits: {
      rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
      rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      monthlyQuota: settings.MONTHLY_QUOTA,
    },
    metricsAddress: settings.METRICS_ADDRESS,
  };
}
