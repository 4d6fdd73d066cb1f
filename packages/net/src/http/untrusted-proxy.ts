import { type CidrList, parseCidrs } from '@rms/base/cidr';
import type { Logger } from '@rms/runtime/logging';
import type { Client } from './client.ts';

/** Addresses of proxies in the same network: private, shared, link-local and loopback. */
const internal = parseCidrs([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'],
  ...['fc00::/7', 'fe80::/10', '::1/128'],
]);
/** Maximum number of reported addresses. */
const maxReported = 10;
/** Public addresses that a public address may forward for before it counts as a proxy. */
const maxForwardedFor = 20;
/** Maximum number of public addresses that are watched at a time. */
const maxWatched = 100;

/**
 * Creates a check that logs a warning, once per address, about a proxy outside TRUSTED_PROXIES: all its clients share
 * its address and the limits per address. Such a proxy is
 *
 * - an internal address that sends a proxy header, probably the ingress;
 * - a public address that follows many other public addresses in the header: a load balancer that appends its
 *   own public address, or a content delivery network. A client that uses a proxy has few.
 */
export function createProxyWarning(trustedProxies: CidrList, log: Logger): (client: Client) => void {
  const reported = new Set<string>();
  const watched = new Map<string, Set<string>>();
  const report = (address: string, message: string) => {
    reported.add(address);
    watched.delete(address);
    log.warn({ peer: address }, message);
  };
  return ({ address, peer, forwarded, forwardedFor }) => {
    if (forwarded === undefined || reported.size >= maxReported) return;
    if (!reported.has(peer) && !trustedProxies.has(peer) && internal.has(peer)) {
      return report(
        peer,
        'X-Forwarded-For or Forwarded is ignored, because it came from an address outside TRUSTED_PROXIES; if that is a ' +
          'proxy, all its clients share its address and the limits per address',
      );
    }
    if (reported.has(address) || trustedProxies.has(address) || internal.has(address)) return;
    const source = forwardedFor();
    if (source === undefined || internal.has(source)) return;
    const sources = watched.get(address) ?? new Set();
    watched.delete(address); // So that the least recent address is the first one.
    watched.set(address, sources.add(source));
    const [leastRecent] = watched.keys();
    if (watched.size > maxWatched && leastRecent !== undefined) watched.delete(leastRecent);
    if (sources.size <= maxForwardedFor) return;
    report(
      address,
      'a public address outside TRUSTED_PROXIES forwards requests of many clients; if it belongs to your load balancer ' +
        'or content delivery network, add it to TRUSTED_PROXIES: all its clients share its address and the limits per address',
    );
  };
}
