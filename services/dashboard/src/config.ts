import type { CidrList } from '@rms/base/cidr';
import { followHttpsProxy, type ProxyChoice } from '@rms/net/dial';
import { localUrl, readTrustedProxies } from '@rms/net/http';
import type { MetricsAddress } from '@rms/runtime/service';
import { type Followed, followCaFile, followSecret, requireSettings, type Settings } from '@rms/runtime/settings';

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Followed<string>;
  /** CA of the provider's certificate as PEM; undefined: the public CAs. */
  readonly ca: Followed<string> | undefined;
  /** Returns the proxy of connections to the provider. */
  readonly proxyFor: Followed<ProxyChoice>;
  /** Name of the provider on the sign-in button. */
  readonly name: string;
  /** Name of the claim with the email address. */
  readonly emailClaim: string;
  /** Whether an address counts as verified if the provider does not say. */
  readonly trustEmail: boolean;
  /** Whether signing out also ends the session at the provider. */
  readonly endsSession: boolean;
}

export interface DashboardConfig {
  readonly host: string;
  readonly port: number;
  /** Public URL of the dashboard, e.g. "https://dashboard.example.com". Undefined: the request's host. */
  readonly publicUrl: string | undefined;
  /** Origins of the pages that may frame the portal. */
  readonly portalFrameAncestors: readonly string[];
  /** Base URLs of the REST API, for examples in pages. */
  readonly apiUrls: { readonly live: string; readonly sandbox: string };
  /** Limits of the installation, used where a plan sets none. 0: no limit. */
  readonly limits: {
    readonly rateLimitRequests: number;
    readonly workspaceRateLimitRequests: number;
    readonly maxKeys: number;
    readonly maxWebhooks: number;
    readonly maxMembers: number;
    readonly maxInvitations: number;
    readonly rateLimitWindowSeconds: number;
    readonly monthlyQuota: number;
  };
  /** Rules of the installation that texts of the pages state. */
  readonly rules: {
    /** Whether webhooks may have http URLs. */
    readonly webhookHttp: boolean;
    /** Whether webhooks may call networks that are not public. */
    readonly webhookPrivateNetworks: boolean;
    /** Time without a successful delivery until a webhook is disabled. 0: never. */
    readonly webhookDisableAfterHours: number;
    readonly deliveryLogDays: number;
    readonly requestLogDays: number;
  };
  /** OpenID Connect provider. Undefined: users sign in only with a password. */
  readonly oidc: OidcConfig | undefined;
  /** URL template of a trace viewer, containing "{trace_id}". Undefined: traces are not linked. */
  readonly traceUrl: string | undefined;
  /** Which requests are recorded. Unless `none`, changes by users are reported to the request log. */
  readonly requestLog: Settings['REQUEST_LOG'];
  /** Interval at which a live tail checks its viewer's session and sends a heartbeat. */
  readonly tailCheckMs: number;
  readonly trustedProxies: CidrList;
  readonly maxConnections: number;
  /** Per client address, except trusted proxies. 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  readonly maxHeadersKib: number;
  /** Idle time until connections are closed. */
  readonly keepAliveMs: number;
  /** Undefined: metrics are not served. */
  readonly metricsAddress: MetricsAddress | undefined;
}

export function readDashboardConfig(settings: Settings): DashboardConfig {
  return {
    host: settings.HOST,
    port: settings.DASHBOARD_PORT,
    publicUrl: settings.DASHBOARD_URL,
    portalFrameAncestors: settings.PORTAL_FRAME_ANCESTORS,
    apiUrls: {
      live: settings.PUBLIC_API_URL ?? localUrl(settings.HOST, settings.PORT),
      sandbox: settings.PUBLIC_SANDBOX_URL ?? localUrl(settings.HOST, settings.SANDBOX_PORT),
    },
    limits: {
      rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
      workspaceRateLimitRequests: settings.WORKSPACE_RATE_LIMIT_REQUESTS,
      maxKeys: settings.MAX_KEYS_PER_WORKSPACE,
      maxWebhooks: settings.MAX_WEBHOOKS_PER_WORKSPACE,
      maxMembers: settings.MAX_MEMBERS_PER_WORKSPACE,
      maxInvitations: settings.MAX_INVITATIONS_PER_WORKSPACE,
      rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      monthlyQuota: settings.MONTHLY_QUOTA,
    },
    rules: {
      webhookHttp: settings.WEBHOOK_ALLOW_HTTP,
      webhookPrivateNetworks: settings.WEBHOOK_ALLOW_CIDRS.length > 0,
      webhookDisableAfterHours: settings.WEBHOOK_DISABLE_AFTER_HOURS,
      deliveryLogDays: settings.LOG_RETENTION_DAYS,
      requestLogDays: settings.REQUEST_LOG_DAYS,
    },
    traceUrl: settings.TRACE_URL,
    oidc: readOidcConfig(settings),
    requestLog: settings.REQUEST_LOG,
    tailCheckMs: 10_000,
    trustedProxies: readTrustedProxies(settings.TRUSTED_PROXIES),
    maxConnections: settings.MAX_CONNECTIONS,
    maxConnectionsPerAddress: settings.MAX_CONNECTIONS_PER_ADDRESS,
    maxHeadersKib: settings.MAX_HEADERS_KIB,
    keepAliveMs: settings.KEEP_ALIVE_SECONDS * 1_000,
    metricsAddress: settings.METRICS_ADDRESS,
  };
}

function readOidcConfig(settings: Settings): OidcConfig | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_NAME: name } = settings;
  if (issuer === undefined) return undefined;
  // The provider must know the redirect URL, which requires DASHBOARD_URL.
  requireSettings(settings, 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'DASHBOARD_URL');
  const { OIDC_EMAIL_CLAIM: emailClaim, OIDC_EMAIL_TRUST: trustEmail, OIDC_SIGN_OUT: endsSession } = settings;
  const clientSecret = followSecret(settings, 'OIDC_CLIENT_SECRET');
  const ca = followCaFile(settings, 'OIDC_CA_FILE', { refreshMs: 0 });
  const proxyFor = followHttpsProxy(settings);
  return { issuer, clientId, clientSecret, ca, proxyFor, name, emailClaim, trustEmail, endsSession };
}
