import { parseCidrs } from '@rms/cidr';
import { createProxyChoice, followProxy } from '@rms/dial';
import { followCaFile, orSettingsError, type Settings } from '@rms/settings';
import type { EgressConfig } from './egress.ts';
import type { GuardConfig } from './guard.ts';
import { parsePort } from './ports.ts';
import { createResolve } from './resolve.ts';

/** Throws {@link SettingsError} with the name of the invalid setting. */
export function readEgressConfig(settings: Settings): EgressConfig {
  const { WEBHOOK_NO_PROXY: noProxy } = settings;
  const proxy = followProxy(settings, 'WEBHOOK_PROXY_URL');
  orSettingsError(() => createProxyChoice(undefined, noProxy), 'WEBHOOK_NO_PROXY: ');
  const ca = followCaFile(settings, 'WEBHOOK_CA_FILE');
  return { ...readGuardConfig(settings), noProxy, ...(proxy ? { proxy } : {}), ...(ca ? { ca } : {}) };
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
