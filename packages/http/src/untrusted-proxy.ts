import { type CidrList, parseCidrs } from '@rms/cidr';
import type { Logger } from '@rms/logging';
import type { Client } from './client.ts';

/** Addresses of proxies in the same network: private, shared, link-local and loopback. */
const internal = parseCidrs([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'],
  ...['fc00::/7', 'fe80::/10', '::1/128'],
]);
/** Maximum number of reported addresses. */
const maxReported = 10;

/**
 * Creates a check that logs a warning if a header of a proxy arrives from an internal address outside TRUSTED_PROXIES,
 * once per address. Such an address is probably the ingress: all its clients then share one address and its limits.
 */
export function createProxyWarning(trustedProxies: CidrList, log: Logger): (client: Client) => void {
  const reported = new Set<string>();
  return ({ peer, forwarded }) => {
    if (forwarded === undefined || reported.size >= maxReported) return;
    if (reported.has(peer) || trustedProxies.has(peer) || !internal.has(peer)) return;
    reported.add(peer);
    log.warn(
      { peer },
      'X-Forwarded-For or Forwarded is ignored, because it came from an address outside TRUSTED_PROXIES; if that is a ' +
        'proxy, all its clients share its address and the limits per address',
    );
  };
}
