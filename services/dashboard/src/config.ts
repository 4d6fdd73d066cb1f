import { type CidrList, readTrustedProxies } from '@rms/http';
import { type MetricsAddress, requireSettings, type Settings, SettingsError } from '@rms/service';

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the button says: "Sign in by …". */
  readonly name: string;
}

export interface DashboardConfig {
  readonly host: string;
  readonly port: number;
  /** "https://dashboard.example.com", where browsers find it; undefined: the request's own host. */
  readonly publicUrl: string | undefined;
  /** Bases of the REST API, for the examples that pages show. */
  readonly apiUrls: { readonly live: string; readonly sandbox: string };
  /** Of the installation: they hold where a plan says nothing. 0: no limit. */
  readonly limits: {
    readonly rateLimitRequests: number;
    readonly rateLimitWindowSeconds: number;
    readonly monthlyQuota: number;
  };
  /** The OpenID Connect provider; undefined: people sign in by password only. */
  readonly oidc: OidcConfig | undefined;
  /** Where a trace can be looked at, with "{trace_id}" in it; undefined: nowhere. */
  readonly traceUrl: string | undefined;
  readonly trustedProxies: CidrList;
  readonly maxConnections: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
}

export function readDashboardConfig(settings: Settings): DashboardConfig {
  const localUrl = (port: number) => `http://127.0.0.1:${port}`;
  return {
    host: settings.HOST,
    port: settings.DASHBOARD_PORT,
    publicUrl: settings.DASHBOARD_URL,
    apiUrls: {
      live: settings.PUBLIC_API_URL ?? localUrl(settings.PORT),
      sandbox: settings.PUBLIC_SANDBOX_URL ?? localUrl(settings.SANDBOX_PORT),
    },
    limits: {
      rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
      rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      monthlyQuota: settings.MONTHLY_QUOTA,
    },
    traceUrl: readTraceUrl(settings.TRACE_URL),
    oidc: readOidcConfig(settings),
    trustedProxies: readTrustedProxies(settings.TRUSTED_PROXIES),
    maxConnections: settings.MAX_CONNECTIONS,
    metricsAddress: settings.METRICS_ADDRESS,
  };
}

function readOidcConfig(settings: Settings): OidcConfig | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, OIDC_NAME: name } = settings;
  if (issuer === undefined) return undefined;
  // The provider knows where it may send people back to.
  requireSettings(settings, 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'DASHBOARD_URL');
  return { issuer, clientId, clientSecret, name };
}

function readTraceUrl(text: string): string | undefined {
  if (text === '') return undefined;
  if (!/^https?:\/\//.test(text) || !text.includes('{trace_id}'))
    throw new SettingsError(`TRACE_URL: "${text}" is not an http(s) URL with {trace_id} in it`);
  return text;
}
