import { Resolver } from 'node:dns/promises';

/**
 * Resolves a name to its IPv4 and IPv6 addresses; empty if it does not resolve. Rejects with DNS_FAILED if no server
 * responds.
 */
export type Resolve = (name: string) => Promise<string[]>;

const unknownName = ['ENOTFOUND', 'ENODATA'];

/**
 * Creates a resolver that queries DNS directly: without the hosts file, the cluster's search domains, or the thread
 * pool that slow names could exhaust. `localhost` resolves as defined in RFC 6761.
 * @param servers addresses, optionally with ports; if empty, the system's servers are used. Throws if an address is
 * invalid.
 */
export function createResolve(servers: readonly string[] = []): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return async (name) => {
    if (/^localhost\.?$/.test(name)) return ['127.0.0.1', '::1'];
    const responses = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = responses.flatMap((response) => (response.status === 'fulfilled' ? response.value : []));
    if (addresses.length > 0) return addresses;
    for (const response of responses) {
      const code = response.status === 'rejected' ? (response.reason as NodeJS.ErrnoException).code : undefined;
      if (code && !unknownName.includes(code)) {
        throw Object.assign(new Error(`no response (${code})`), { code: 'DNS_FAILED' });
      }
    }
    return [];
  };
}
