import { Resolver } from 'node:dns/promises';

/** The addresses of a name, of both families; none if it does not resolve. Rejects with DNS_FAILED if nobody knows. */
export type Resolve = (name: string) => Promise<string[]>;

const unknownName = ['ENOTFOUND', 'ENODATA'];

/**
 * By DNS itself: no hosts file, no search domains of the cluster, no thread pool that slow names could fill. `localhost`
 * is what RFC 6761 says.
 * @param servers addresses, each with a port or without; none: those of the system. Throws for what is no address.
 */
export function createResolve(servers: readonly string[] = []): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return async (name) => {
    if (/^localhost\.?$/.test(name)) return ['127.0.0.1', '::1'];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers) {
      const code = answer.status === 'rejected' ? (answer.reason as NodeJS.ErrnoException).code : undefined;
      if (code && !unknownName.includes(code)) {
        throw Object.assign(new Error(`no answer (${code})`), { code: 'DNS_FAILED' });
      }
    }
    return [];
  };
}
