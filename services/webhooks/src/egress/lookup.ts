import { isIP, type LookupFunction } from 'node:net';
import { BlockedAddressError, type EgressGuard } from './guard.ts';
import type { Resolve } from './resolve.ts';

/**
 * Creates a lookup function for sockets. It resolves a name once and requires every address to be permitted, so that
 * the dialed address is always a checked one.
 */
export function createGuardedLookup({ permitted }: EgressGuard, resolve: Resolve): LookupFunction {
  return (hostname, { all, family }, callback) => {
    resolve(hostname).then(
      (found) => {
        const addresses = /^localhost\.?$/.test(hostname) ? found.filter(permitted) : found;
        // A single forbidden address rejects the name: mixed responses are an attack or a misconfiguration.
        if (!addresses.every(permitted)) {
          const blocked = new BlockedAddressError(`${hostname} resolves to an address that is not public`, found);
          return callback(blocked, '', 0);
        }
        const wanted = addresses.filter((address) => !family || isIP(address) === family);
        const [first] = wanted;
        if (!first) {
          const text = `no address for ${hostname}`;
          const unknown = Object.assign(new Error(text), { code: 'ENOTFOUND' });
          return callback(found.length > 0 ? new BlockedAddressError(text, found) : unknown, '', 0);
        }
        const list = wanted.map((address) => ({ address, family: isIP(address) }));
        if (all) (callback as unknown as (error: null, addresses: typeof list) => void)(null, list);
        else callback(null, first, isIP(first));
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}
