import { parseCidrs } from '@rms/cidr';
import { type Followed, followCaFile, followSecret, orSettingsError, type Settings } from '@rms/settings';
import type { EgressConfig } from './egress.ts';
import type { GuardConfig } from './guard.ts';
import { parsePort } from './ports.ts';
import { createProxyChoice, type EgressProxy, parseProxy } from './proxy-choice.ts';
import { createResolve } from './resolve.ts';

/** Interval at which a file with the URL of the proxy is read again. */
const refreshMs = 5_000;

/** Throws {@link SettingsError} with the name of the invalid setting. */
export function readEgressConfig(settings: Settings): EgressConfig {
  const { WEBHOOK_PROXY_URL: url, WEBHOOK_NO_PROXY: noProxy } = settings;
  const proxy = url === '' || url === 'none' ? undefined : readProxy(settings);
  orSettingsError(() => createProxyChoice(undefined, noProxy), 'WEBHOOK_NO_PROXY: ');
  const ca = followCaFile(settings, 'WEBHOOK_CA_FILE');
  return { ...readGuardConfig(settings), noProxy, ...proxy, ...(ca ? { ca } : {}) };
}

function readProxy(settings: Settings): { proxy: EgressProxy; followProxy: Followed<EgressProxy> } {
  const { WEBHOOK_PROXY_URL: first } = settings;
  const proxy = orSettingsError(() => parseProxy(first), 'WEBHOOK_PROXY_URL: ');
  let latest = { url: first, proxy };
  const current = followSecret(settings, 'WEBHOOK_PROXY_URL', { check: (url) => void parseProxy(url), refreshMs });
  const followProxy: Followed<EgressProxy> = (log) => {
    const url = current(log);
    if (url !== latest.url) latest = { url, proxy: parseProxy(url) };
    return latest.proxy;
  };
  return { proxy, followProxy };
}

/**
 * Reads the rules that the egress proxy also applies. Throws {@link SettingsError} with the name of the invalid
 * setting.
 */
export function readGuardConfig(settings: Settings): GuardConfig & { readonly dnsServers: readonly string[] } {
  const { WEBHOOK_ALLOW_CIDRS: allowCidrs, WEBHOOK_DENY_CIDRS: denyCidrs, WEBHOOK_DNS_SERVERS: dnsServers } = settings;
  orSettingsError(() => parseCidrs(allowCidrs), 'WEBHOOK_ALLOW_CIDRS: ');
  orSettingsError(() => parseCidrs(denyCidrs), 'WEBHOOK_DENY_CIDRS: ');
  orSettingsError(() => createResolve(dnsServers), 'WEBHOOK_DNS_SERVERS: ');
  const allowPorts = orSettingsError(() => settings.WEBHOOK_ALLOW_PORTS.map(parsePort), 'WEBHOOK_ALLOW_PORTS: ');
  return { allowHttp: settings.WEBHOOK_ALLOW_HTTP, allowCidrs, denyCidrs, allowPorts, dnsServers };
}
