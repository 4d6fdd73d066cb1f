import type { Socket } from 'node:net';
import { dial, hostOf, portOf, type Resolve, type SelectAddresses, type Target } from '../dial/index.ts';
import { BlockedAddressError, blockedBy, type EgressGuard } from './guard.ts';

export interface DialTargetOptions {
  readonly guard: EgressGuard;
  readonly resolve: Resolve;
  /** For resolving and connecting together. */
  readonly timeoutMs: number;
  /** Whether the socket stays open for writing after the other side ends. Defaults to false. */
  readonly allowHalfOpen?: boolean;
  /** Called when the first address is dialed. */
  readonly onResolved?: () => void;
}

/**
 * Opens a TCP connection if the guard permits the target. Dials exactly the addresses that the guard has checked, and
 * rejects as `dial` does.
 *
 * IPv4 is dialed first, unlike in RFC 8305: receivers permit the IPv4 addresses of senders in their firewalls.
 */
export async function dialTarget(target: Target, { guard, ...options }: DialTargetOptions): Promise<Socket> {
  const refusal = guard.refusal(target);
  if (refusal) throw blockedBy(refusal, target);
  return dial({
    ...options,
    host: hostOf(target.hostname),
    port: Number(portOf(target)),
    firstFamily: 4,
    select: selectPermitted(guard),
    refuse: (address) =>
      address !== undefined && guard.permitted(address)
        ? undefined
        : new BlockedAddressError('connected to an address that is not public', address ? [address] : []),
  });
}

/**
 * Selects permitted addresses. A single forbidden address rejects the name: mixed responses are an attack or a
 * misconfiguration. Of `localhost`, the permitted addresses are enough.
 */
export function selectPermitted(guard: EgressGuard): SelectAddresses {
  return (host, found, earlier) => {
    if (host === 'localhost') return found.filter(guard.permitted);
    if (found.every(guard.permitted)) return found;
    throw new BlockedAddressError(`${host} resolves to an address that is not public`, [...earlier, ...found]);
  };
}
