import { Resolver } from 'node:dns/promises';
import type { Resolve } from '../dial/index.ts';

const unknownName = ['ENOTFOUND', 'ENODATA'];
const recheckMs = 5_000;

/** Dependencies that tests replace. */
interface Surroundings {
  /** Creates a resolver with the system's servers at this time. */
  readonly system: () => Resolver;
  readonly nowMs: () => number;
}

const own: Surroundings = {
  system: () => new Resolver({ timeout: 2_000, tries: 2 }),
  nowMs: () => performance.now(),
};

/**
 * Creates a resolver that queries DNS directly: without the hosts file, the cluster's search domains, or the thread
 * pool that slow names could exhaust. It rejects with DNS_FAILED if no server responds. It follows changes of the system's servers. `localhost` resolves as defined in
 * RFC 6761.
 * @param servers addresses, optionally with ports; if empty, the system's servers are used. Throws if an address is
 * invalid.
 */
export function createResolve(servers: readonly string[] = [], { system, nowMs }: Surroundings = own): Resolve {
  let resolver = system();
  if (servers.length > 0) resolver.setServers(servers);
  let checkedAtMs = nowMs();
  /** A resolver reads the system's servers once, when it is created. */
  const current = () => {
    if (servers.length > 0 || nowMs() - checkedAtMs < recheckMs) return resolver;
    checkedAtMs = nowMs();
    const next = system();
    // The known resolver also knows which of its servers respond.
    if (next.getServers().join() !== resolver.getServers().join()) resolver = next;
    return resolver;
  };
  return (name) => {
    if (name === 'localhost') return [Promise.resolve(['127.0.0.1', '::1'])];
    const now = current();
    return [now.resolve4(name).catch(noneIfUnknown), now.resolve6(name).catch(noneIfUnknown)];
  };
}

function noneIfUnknown({ code = '' }: NodeJS.ErrnoException): readonly string[] {
  if (unknownName.includes(code)) return [];
  throw Object.assign(new Error(`no response (${code})`), { code: 'DNS_FAILED' });
}
