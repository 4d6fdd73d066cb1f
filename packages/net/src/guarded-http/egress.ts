import { type Followed, type FollowLog, followCaFile, orSettingsError, type Settings } from '@rms/runtime/settings';
import { createProxyChoice, followProxy, type HttpProxy, type ProxyChoice, type Resolve } from '../dial/index.ts';
import {
  createEgressGuard,
  createResolve,
  type EgressGuard,
  type GuardConfig,
  readGuardConfig,
} from '../egress/index.ts';

/** The destinations that webhooks may call, and the route to them. */
export interface EgressConfig extends GuardConfig {
  /** DNS servers to use instead of the system's. */
  readonly dnsServers?: readonly string[];
  /** Returns the proxy for outgoing calls, with its current credentials. */
  readonly proxy?: Followed<HttpProxy>;
  /** Destinations that are called without the proxy; see {@link createProxyChoice}. */
  readonly noProxy?: readonly string[];
  /** Returns certificate authorities (PEM) to trust for endpoints and the proxy, in addition to the public ones. */
  readonly ca?: Followed<string>;
}

/** The outbound network access of this service. */
export interface Egress {
  readonly guard: EgressGuard;
  readonly allowsHttp: boolean;
  /** Whether some networks that are not public are allowed. */
  readonly allowsPrivate: boolean;
  readonly resolve: Resolve;
  readonly proxyFor: ProxyChoice;
}

const silent: FollowLog = { info() {}, error() {} };

export function createEgress(
  { dnsServers, proxy, noProxy = [], ...rules }: EgressConfig,
  log: FollowLog = silent,
): Egress {
  return {
    guard: createEgressGuard(rules),
    allowsHttp: rules.allowHttp,
    allowsPrivate: rules.allowCidrs.length > 0,
    resolve: createResolve(dnsServers),
    proxyFor: createProxyChoice(proxy && (() => proxy(log)), noProxy),
  };
}

/** Throws {@link SettingsError} with the invalid setting's name. */
export function readEgressConfig(settings: Settings): EgressConfig {
  const { WEBHOOK_NO_PROXY: noProxy } = settings;
  const proxy = followProxy(settings, 'WEBHOOK_PROXY_URL');
  orSettingsError(() => createProxyChoice(undefined, noProxy), 'WEBHOOK_NO_PROXY: ');
  const ca = followCaFile(settings, 'WEBHOOK_CA_FILE');
  return { ...readGuardConfig(settings), noProxy, ...(proxy ? { proxy } : {}), ...(ca ? { ca } : {}) };
}
