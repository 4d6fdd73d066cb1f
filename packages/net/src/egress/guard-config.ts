import { parseCidrs } from '@rms/base/cidr';
import { orSettingsError, type Settings } from '@rms/runtime/settings';
import type { GuardConfig } from './guard.ts';
import { parsePort } from './ports.ts';
import { createResolve } from './resolve.ts';

/**
 * Reads the rules that webhooks and the egress proxy apply. Throws {@link SettingsError} with the name of the invalid
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
