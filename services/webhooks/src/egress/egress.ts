import { createEgressGuard, type EgressGuard, type GuardConfig } from './guard.ts';
import { createProxyChoice, type EgressProxy, type ProxyChoice } from './proxy-choice.ts';
import { createResolve, type Resolve } from './resolve.ts';

/** Where webhooks may call, and by which way. */
export interface EgressConfig extends GuardConfig {
  /** Ask these for names instead of the system's DNS servers. */
  readonly dnsServers?: readonly string[];
  /** What calls go through. */
  readonly proxy?: EgressProxy;
  /** What they reach without it; see {@link createProxyChoice}. */
  readonly noProxy?: readonly string[];
  /** Certificate authorities that vouch for endpoints and the proxy beside the public ones; PEM. */
  readonly ca?: string;
}

/** The way out of this service. */
export interface Egress {
  readonly guard: EgressGuard;
  readonly resolve: Resolve;
  readonly proxyFor: ProxyChoice;
}

export function createEgress({ dnsServers, proxy, noProxy = [], ...rules }: EgressConfig): Egress {
  return {
    guard: createEgressGuard(rules),
    resolve: createResolve(dnsServers),
    proxyFor: createProxyChoice(proxy, noProxy),
  };
}
