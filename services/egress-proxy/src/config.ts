import { type GuardConfig, readGuardConfig } from '@rms/net/egress';
import type { MetricsAddress } from '@rms/runtime/service';
import { type Followed, followSecret, type Settings, SettingsError } from '@rms/runtime/settings';

export interface EgressProxyConfig {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** Required credentials as "user:password". If undefined, authentication is disabled. */
  readonly credentials: Followed<string> | undefined;
  /** Maximum number of concurrent connections. Further connections are closed immediately. */
  readonly connections: number;
  /** If undefined, metrics are not exposed. */
  readonly metricsAddress: MetricsAddress | undefined;
  readonly guard: GuardConfig;
  /** If empty, the system's DNS servers are used. */
  readonly dnsServers: readonly string[];
  readonly limits: TunnelLimits;
}

export interface TunnelLimits {
  /** Timeout for receiving a request's head. */
  readonly headMs: number;
  /**
   * Timeout for resolving and connecting. It is shorter than the timeout in the webhooks service, so that the service
   * receives the reason.
   */
  readonly connectMs: number;
  /** Timeout without traffic in either direction. It is longer than the webhooks service keeps idle connections. */
  readonly idleMs: number;
  /** Maximum lifetime of a tunnel. */
  readonly lifeMs: number;
  /** Grace period for open tunnels when the proxy stops. An attempt takes up to 10 s. */
  readonly drainMs: number;
}

export const tunnelLimits: TunnelLimits = {
  headMs: 5_000,
  connectMs: 4_500,
  idleMs: 90_000,
  lifeMs: 3_600_000,
  drainMs: 12_000,
};

/** How often a file with the credentials is read again. */
const refreshMs = 5_000;

export function readEgressProxyConfig(settings: Settings): EgressProxyConfig {
  const { EGRESS_PROXY_CREDENTIALS: credentials } = settings;
  if (credentials !== '') checkCredentials(credentials);
  const { dnsServers, ...guard } = readGuardConfig(settings);
  return {
    host: settings.EGRESS_PROXY_HOST,
    port: settings.EGRESS_PROXY_PORT,
    credentials:
      credentials === ''
        ? undefined
        : followSecret(settings, 'EGRESS_PROXY_CREDENTIALS', { check: checkCredentials, refreshMs }),
    connections: settings.EGRESS_PROXY_CONNECTIONS,
    metricsAddress: settings.METRICS_ADDRESS,
    guard,
    dnsServers,
    limits: tunnelLimits,
  };
}

function checkCredentials(text: string): void {
  if (!/^[^:]+:.+$/.test(text)) throw new SettingsError('EGRESS_PROXY_CREDENTIALS: must have the form "user:password"');
}
