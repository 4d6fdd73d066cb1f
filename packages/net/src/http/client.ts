import type { IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress } from '@rms/base/cidr';
import { addressOfNode, readForwarded } from './forwarded.ts';

/** A request's client, as identified by the connection and by trusted proxies. */
export interface Client {
  /** In normal form. */
  readonly address: string;
  /** Source of the address: "socket", or the trusted proxy that reported it. */
  readonly determinedBy: string;
  /** Remote address of the connection, in normal form. */
  readonly peer: string;
  readonly reason: WalkEnd;
  /** Whether the outermost trusted proxy that identifies a scheme received the request over HTTPS. */
  readonly usesHttps: boolean;
  /** The header with the addresses that proxies reported, as received; undefined without it. */
  readonly forwarded: string | undefined;
  /** Returns the address that the client forwarded the request for, as it claims; undefined if it names none. */
  readonly forwardedFor: () => string | undefined;
}

/** Reason why the walk over the entries of proxies ended at this address. */
export type WalkEnd =
  | 'not a trusted proxy'
  | 'no further entry'
  | 'the next entry is not an address'
  | 'too many trusted hops';

/** Bounds the work for a long header; real proxy chains are shorter. */
const maxHops = 32;
const known = new WeakMap<IncomingMessage, Client>();

/**
 * Determines the client, once per request. If the socket's peer is not a trusted proxy, it is the client, and the
 * headers of proxies are not read. Otherwise, it walks the entries of proxies from the nearest one, past trusted hops,
 * to the first address that is not a trusted proxy. If a hop's entry is missing or malformed, the walk ends at
 * that hop. Only the entries of trusted hops count.
 */
export function clientOf(request: IncomingMessage, trustedProxies: CidrList): Client {
  const found = known.get(request);
  if (found) return found;
  const client = determine(request, trustedProxies);
  known.set(request, client);
  return client;
}

function determine({ socket, headers }: IncomingMessage, trustedProxies: CidrList): Client {
  const remote = socket.remoteAddress ?? '';
  const peer = normalizeAddress(remote) ?? remote;
  const forwarded = readForwarded(headers);
  let address = peer;
  let determinedBy = 'socket';
  let proto: string | undefined;
  const end = (reason: WalkEnd): Client => ({
    address,
    determinedBy,
    peer,
    reason,
    usesHttps: proto === 'https',
    forwarded: forwarded?.text,
    forwardedFor: () => addressOfNode(forwarded?.next()?.node ?? ''),
  });
  for (let hops = 0; trustedProxies.has(address); hops += 1) {
    if (hops >= maxHops) return end('too many trusted hops');
    const entry = forwarded?.next();
    if (entry === undefined) return end('no further entry');
    proto = entry.proto ?? proto;
    if (entry.node === undefined) return end('no further entry');
    const next = addressOfNode(entry.node);
    if (next === undefined) return end('the next entry is not an address');
    determinedBy = address;
    address = next;
  }
  return end('not a trusted proxy');
}
