import dns from 'node:dns';
import type { Resolve } from './find-addresses.ts';

/** Lookups in progress, by kind and name. */
const lookups = new Map<string, Promise<readonly string[]>>();

/**
 * Returns a resolver that finds addresses as other programs of the system do: with the hosts file and the search
 * domains, and in the order of RFC 6724. It looks up both kinds together. Separate lookups would find the addresses of
 * different names: a lookup that finds no address of its kind continues with the next search domain.
 *
 * A lookup cannot be canceled, and occupies a process thread until it ends. Dials of a name share the lookup in
 * progress, so that name servers that respond late delay connections, but do not prevent them or use up the threads.
 * @param family the only kind of addresses to look up; default: both
 */
export function systemAddresses(family: 4 | 6 | undefined): Resolve {
  return (name) => [lookupAddresses(name, family)];
}

/** Returns a name's addresses, as {@link systemAddresses} finds them. An address is its own. */
export function lookupAddresses(name: string, family: 0 | 4 | 6 = 0): Promise<readonly string[]> {
  const key = `${family} ${name}`;
  const known = lookups.get(key);
  if (known) return known;
  const looking = new Promise<readonly string[]>((resolve, reject) => {
    dns.lookup(name, { family, all: true, order: 'verbatim' }, (error, found) => {
      lookups.delete(key);
      if (error) reject(error);
      else resolve(found.map(({ address }) => address));
    });
  });
  lookups.set(key, looking);
  return looking;
}
