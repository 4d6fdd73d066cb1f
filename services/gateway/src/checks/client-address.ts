import type { IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress } from './cidr-list.ts';

export interface ClientAddress {
  /** In normal form. */
  readonly address: string;
  /** The hop whose word for it we took: "socket", or the trusted proxy that named it. */
  readonly toldBy: string;
}

/**
 * Who is calling: the socket's peer, unless that is a trusted proxy; then X-Forwarded-For is walked from the right, past
 * trusted hops, to the first address that is not one of ours. What a hop cannot vouch for (a malformed entry, or nothing)
 * ends the walk at that hop.
 */
export function clientAddress(request: IncomingMessage, trustedProxies: CidrList): ClientAddress {
  const peer = request.socket.remoteAddress ?? '';
  let current: ClientAddress = { address: normalizeAddress(peer) ?? peer, toldBy: 'socket' };
  if (trustedProxies.empty || !trustedProxies.has(current.address)) return current;
  const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
  for (const hop of hops.reverse()) {
    const address = normalizeAddress(hop.trim());
    if (!address) return current;
    current = { address, toldBy: current.address };
    if (!trustedProxies.has(address)) return current;
  }
  return current;
}
