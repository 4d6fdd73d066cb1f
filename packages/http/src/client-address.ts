import type { IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress } from '@rms/cidr';

export interface ClientAddress {
  /** In normal form. */
  readonly address: string;
  /** Source of the address: "socket", or the trusted proxy that reported it. */
  readonly determinedBy: string;
  /** Remote address of the connection, in normal form. */
  readonly peer: string;
  readonly reason: WalkEnd;
}

/** Reason why the walk over X-Forwarded-For ended at this address. */
export type WalkEnd =
  | 'not a trusted proxy'
  | 'no further entry'
  | 'the next entry is not an address'
  | 'too many trusted hops';

/** Bounds the work for a long header; real proxy chains are shorter. */
const maxHops = 32;

/**
 * Determines the client's address. If the socket's peer is not a trusted proxy, it is the client. Otherwise, it walks
 * X-Forwarded-For from the right, past trusted hops, to the first address that is not a trusted proxy. If the entry of
 * a hop is missing or malformed, the walk ends at that hop.
 */
export function clientAddress({ socket, headers }: IncomingMessage, trustedProxies: CidrList): ClientAddress {
  const remote = socket.remoteAddress ?? '';
  const peer = normalizeAddress(remote) ?? remote;
  let address = peer;
  let determinedBy = 'socket';
  const end = (reason: WalkEnd): ClientAddress => ({ address, determinedBy, peer, reason });
  // Node joins repeated headers with ", ", in order.
  const header = String(headers['x-forwarded-for'] ?? '');
  let rest = header.length;
  for (let hops = 0; trustedProxies.has(address); hops += 1) {
    if (rest < 0 || header === '') return end('no further entry');
    if (hops >= maxHops) return end('too many trusted hops');
    const comma = rest === 0 ? -1 : header.lastIndexOf(',', rest - 1);
    const named = addressOfEntry(header.slice(comma + 1, rest));
    if (named === undefined) return end('the next entry is not an address');
    determinedBy = address;
    address = named;
    rest = comma;
  }
  return end('not a trusted proxy');
}

/** Maximum length of an entry with an address: quotes, brackets, a zone, a port. */
const maxEntryLength = 100;
const withPort = /^(\[[^\]]*\]|[\d.]+):\d{1,5}$/;

/** Parses "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711", each also in quotes. */
function addressOfEntry(entry: string): string | undefined {
  if (entry.length > maxEntryLength) return undefined;
  let text = entry.trim();
  if (text.length > 2 && text.startsWith('"') && text.endsWith('"')) text = text.slice(1, -1);
  return normalizeAddress(withPort.exec(text)?.[1] ?? text);
}
