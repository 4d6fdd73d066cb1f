import { isIP } from 'node:net';
import { BlockedAddressError, type EgressGuard } from './guard.ts';
import type { Resolve } from './resolve.ts';

/** Time to wait for the other kind of addresses after the first one is known (RFC 8305, section 3). */
const resolutionDelayMs = 50;

/** Receives the addresses of a host. */
export interface AddressListener {
  /** Called when dialing may begin: all addresses are known, or some are and the others are late. */
  begin(): void;
  /** Called with permitted addresses, before `begin` or after it. */
  add(addresses: readonly string[]): void;
  /** Called once if no further addresses follow, with the reason if there were none at all. */
  complete(reason?: Error): void;
  /** Called if the host has an address that is not permitted. No other call follows. */
  reject(error: BlockedAddressError): void;
}

/**
 * Finds the addresses of a host, and passes on only permitted ones. A single forbidden address rejects the name: mixed
 * responses are an attack or a misconfiguration. Addresses that arrive after dialing began are checked likewise.
 * @param host a name or an IP address, in canonical form
 * @returns a function that ends the calls to the listener
 */
export function findAddresses(
  host: string,
  { guard, resolve }: { guard: EgressGuard; resolve: Resolve },
  listener: AddressListener,
): () => void {
  if (isIP(host) !== 0) {
    // The guard has checked the target.
    listener.add([host]);
    listener.begin();
    listener.complete();
    return () => {};
  }
  let isOver = false;
  let hasBegun = false;
  let delay: NodeJS.Timeout | undefined;
  let isUsable = false;
  let failure: Error | undefined;
  const found: string[] = [];
  const stop = () => {
    isOver = true;
    clearTimeout(delay);
  };
  const begin = () => {
    clearTimeout(delay);
    if (!hasBegun) listener.begin();
    hasBegun = true;
  };
  const answers = resolve(host);
  let missing = answers.length;
  const note = (addresses: readonly string[], error?: Error) => {
    if (isOver) return;
    missing -= 1;
    failure ??= error;
    const usable = host === 'localhost' ? addresses.filter(guard.permitted) : addresses;
    found.push(...addresses);
    if (!usable.every(guard.permitted)) {
      stop();
      return listener.reject(new BlockedAddressError(`${host} resolves to an address that is not public`, found));
    }
    if (usable.length > 0) {
      isUsable = true;
      listener.add(usable);
    }
    if (missing === 0) {
      stop();
      if (isUsable) begin();
      listener.complete(isUsable ? undefined : (failure ?? noAddress(host, found)));
    } else if (isUsable) {
      delay ??= setTimeout(begin, resolutionDelayMs);
    }
  };
  for (const answer of answers) answer.then(note, (error: Error) => note([], error));
  return stop;
}

function noAddress(host: string, found: readonly string[]): Error {
  const text = `no address for ${host}`;
  if (found.length > 0) return new BlockedAddressError(text, found);
  return Object.assign(new Error(text), { code: 'ENOTFOUND' });
}
