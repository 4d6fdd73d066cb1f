import type { IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress } from './cidr-list.ts';

export interface ClientAddress {
  /** In normal form. */
  readonly address: string;
  /** The hop whose word for it we took: "socket", or the trusted proxy that named it. */
  readonly toldBy: string;
  /** The other end of the connection, in normal form. */
  readonly peer: string;
  readonly reason: WalkEnd;
}

/** Why the walk over X-Forwarded-For ended at this address. */
export type WalkEnd =
  | 'it is no trusted proxy'
  | 'no further entry'
  | 'the next entry is no address'
  | 'too many trusted hops';

/** No chain of proxies is longer; a header may be. */
const mostHops = 32;

/**
 * Who is calling: the socket's peer, unless that is a trusted proxy; then X-Forwarded-For is walked from the right, past
 * trusted hops, to the first address that is not one of ours. What a hop cannot vouch for (a malformed entry, or nothing)
 * ends the walk at that hop.
 */
export function clientAddress({ socket, headers }: IncomingMessage, trustedProxies: CidrList): ClientAddress {
  const remote = socket.remoteAddress ?? '';
  const peer = normalizeAddress(remote) ?? remote;
  let address = peer;
  let toldBy = 'socket';
  const end = (reason: WalkEnd): ClientAddress => ({ address, toldBy, peer, reason });
  // Node joins several headers with ", ", in their order.
  const header = String(headers['x-forwarded-for'] ?? '');
  let rest = header.length;
  for (let hops = 0; trustedProxies.has(address); hops += 1) {
    if (rest < 0 || header === '') return end('no further entry');
    if (hops >= mostHops) return end('too many trusted hops');
    const comma = rest === 0 ? -1 : header.lastIndexOf(',', rest - 1);
    const named = addressOfEntry(header.slice(comma + 1, rest));
    if (named === undefined) return end('the next entry is no address');
    toldBy = address;
    address = named;
    rest = comma;
  }
  return end('it is no trusted proxy');
}

/** The longest that can hold an address: quotes, brackets, a zone, a port. */
const longestEntry = 100;
const withPort = /^(\[[^\]]*\]|[\d.]+):\d{1,5}$/;

/** "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711", each also in quotes. */
function addressOfEntry(entry: string): string | undefined {
  if (entry.length > longestEntry) return undefined;
  let text = entry.trim();
  if (text.length > 2 && text.startsWith('"') && text.endsWith('"')) text = text.slice(1, -1);
  return normalizeAddress(withPort.exec(text)?.[1] ?? text);
}
