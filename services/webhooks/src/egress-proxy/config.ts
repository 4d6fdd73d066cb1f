import { type MetricsAddress, type Settings, SettingsError } from '@rms/service';
import { readGuardConfig } from '../egress/config.ts';
import type { GuardConfig } from '../egress/guard.ts';

export interface EgressProxyConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** "user:password" that callers have to show; undefined: nothing. */
  readonly credentials: string | undefined;
  /** Held at once; further ones are closed as they come. */
  readonly connections: number;
  /** Undefined: metrics are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  readonly guard: GuardConfig;
  /** None: those of the system. */
  readonly dnsServers: readonly string[];
  readonly limits: TunnelLimits;
}

export interface TunnelLimits {
  /** For the head of a request. */
  readonly headMs: number;
  /** For resolving and connecting; less than webhooks give the whole, so that they hear why. */
  readonly connectMs: number;
  /** Without a byte in either direction; more than webhooks keep a connection. */
  readonly idleMs: number;
  /** Of a tunnel as a whole. */
  readonly lifeMs: number;
  /** For tunnels that are open when the proxy stops: an attempt has 10 s. */
  readonly drainMs: number;
}

export const tunnelLimits: TunnelLimits = {
  headMs: 5_000,
  connectMs: 4_500,
  idleMs: 90_000,
  lifeMs: 3_600_000,
  drainMs: 12_000,
};

export function readEgressProxyConfig(settings: Settings): EgressProxyConfig {
  const { EGRESS_PROXY_CREDENTIALS: credentials } = settings;
  if (credentials !== '' && !/^[^:]+:.+$/.test(credentials)) {
    throw new SettingsError('EGRESS_PROXY_CREDENTIALS: is not "user:password"');
  }
  const { dnsServers, ...guard } = readGuardConfig(settings);
  return {
    host: settings.EGRESS_PROXY_HOST,
    port: settings.EGRESS_PROXY_PORT,
    credentials: credentials || undefined,
    connections: settings.EGRESS_PROXY_CONNECTIONS,
    metricsAddress: settings.METRICS_ADDRESS,
    guard,
    dnsServers,
    limits: tunnelLimits,
  };
}
