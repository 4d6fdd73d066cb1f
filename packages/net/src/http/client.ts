import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress, parseCidrs } from '@rms/base/cidr';
import type { Logger } from '@rms/runtime/logging';
import { SettingsError } from '@rms/runtime/settings';
import { parseParameters } from './parameters.ts';

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
type WalkEnd =
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

/** A proxy's statement about the connection that it received the request on. */
interface ForwardedEntry {
  /** Node that sent the request to the proxy, as received; undefined if the proxy does not name it. */
  readonly node: string | undefined;
  /** In lower case; undefined if the proxy reports no scheme. */
  readonly proto: string | undefined;
}

/** Statements of proxies about a request. */
interface Forwarded {
  /** The header text that contains the addresses, as received. */
  readonly text: string;
  /** Returns the next proxy's entry, the nearest first; undefined after the last one. */
  next(): ForwardedEntry | undefined;
}

/**
 * Reads X-Forwarded-For and X-Forwarded-Proto or, if the request has neither, Forwarded (RFC 7239). Returns undefined
 * if the request has none. The X-Forwarded headers win because a proxy that sets them usually passes a Forwarded header
 * of the client on. Node joins repeated headers with ", ", in order.
 */
function readForwarded(headers: IncomingHttpHeaders): Forwarded | undefined {
  const addresses = headers['x-forwarded-for'];
  const protos = headers['x-forwarded-proto'];
  if (addresses !== undefined || protos !== undefined) return readLegacy(String(addresses ?? ''), String(protos ?? ''));
  const { forwarded } = headers;
  return forwarded === undefined ? undefined : readStandard(forwarded);
}

/** A proxy that appends to only one of the two lists makes them differ in length. */
function readLegacy(addresses: string, protos: string): Forwarded {
  const nextAddress = fromRight(addresses);
  const nextProto = fromRight(protos);
  return {
    text: addresses,
    next() {
      const node = nextAddress();
      const proto = nextProto();
      return node === undefined && proto === undefined ? undefined : { node, proto: proto && schemeOf(proto) };
    },
  };
}

function readStandard(text: string): Forwarded {
  const next = fromRight(text);
  return {
    text,
    next() {
      const entry = next();
      if (entry === undefined) return undefined;
      const parameters = parseParameters(entry);
      // A malformed entry names no address, so it ends the walk.
      if (!parameters) return { node: entry, proto: undefined };
      const proto = parameters.get('proto');
      return { node: parameters.get('for'), proto: proto && schemeOf(proto) };
    },
  };
}

/** Returns a function that returns a list's entries, the last one first. An empty list has no entries. */
function fromRight(list: string): () => string | undefined {
  let end = list === '' ? -1 : list.length;
  return () => {
    if (end < 0) return undefined;
    const start = startOfLastEntry(list, end);
    const entry = list.slice(start, end);
    end = start - 1;
    return entry;
  };
}

/**
 * Returns the position after the last comma before `end` that is not part of a quoted string, or 0. Reading from the
 * right, a client cannot influence how the entries of trusted proxies are split, because proxies append theirs.
 */
function startOfLastEntry(list: string, end: number): number {
  let isQuoted = false;
  for (let i = end - 1; i >= 0; i -= 1) {
    const char = list[i];
    if (char === ',' && !isQuoted) return i + 1;
    if (char === '"' && !(isQuoted && isEscaped(list, i))) isQuoted = !isQuoted;
  }
  return 0;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text[position - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

/** Maximum length of an entry with an address: quotes, brackets, a zone, a port. */
const maxNodeLength = 100;
/** The port can be obfuscated (RFC 7239, 6.2). */
const withPort = /^(\[[^\]]*\]|[\d.]+):(?:\d{1,5}|_[\w.-]+)$/;

/**
 * Returns the address of "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:4711", also in
 * quotes. Returns undefined for other text, such as "unknown" and obfuscated identifiers ("_proxy").
 */
function addressOfNode(node: string): string | undefined {
  if (node.length > maxNodeLength) return undefined;
  const text = unquote(node.trim());
  return normalizeAddress(withPort.exec(text)?.[1] ?? text);
}

function schemeOf(text: string): string {
  return unquote(text.trim()).toLowerCase();
}

function unquote(text: string): string {
  return text.length > 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

/**
 * Returns the origin under which the client reached this server: "https://api.example.com". Requires the checks of
 * `checkHead`.
 */
export function baseUrlOf({ headers, socket }: IncomingMessage, { usesHttps }: Client): string {
  const { localAddress = '', localPort } = socket;
  const own = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  return new URL(`${usesHttps ? 'https' : 'http'}://${headers.host ?? own}`).origin;
}

/** Addresses of proxies in the same network: private, shared, link-local and loopback. */
const internal = parseCidrs([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'],
  ...['fc00::/7', 'fe80::/10', '::1/128'],
]);
/** Maximum number of reported addresses. */
const maxReported = 10;
/** Public addresses that a public address may forward for before it counts as a proxy. */
const maxForwardedFor = 20;
/** Maximum number of public addresses that are watched at a time. */
const maxWatched = 100;

/**
 * Creates a check that logs a warning, once per address, about a proxy outside TRUSTED_PROXIES: all its clients share
 * its address and the limits per address. Such a proxy is
 *
 * - an internal address that sends a proxy header, probably the ingress;
 * - a public address that follows many other public addresses in the header: a load balancer that appends its
 *   own public address, or a content delivery network. A client that uses a proxy has few.
 */
export function createProxyWarning(trustedProxies: CidrList, log: Logger): (client: Client) => void {
  const reported = new Set<string>();
  const watched = new Map<string, Set<string>>();
  const report = (address: string, message: string) => {
    reported.add(address);
    watched.delete(address);
    log.warn({ peer: address }, message);
  };
  return ({ address, peer, forwarded, forwardedFor }) => {
    if (forwarded === undefined || reported.size >= maxReported) return;
    if (!reported.has(peer) && !trustedProxies.has(peer) && internal.has(peer)) {
      return report(
        peer,
        'X-Forwarded-For or Forwarded is ignored, because it came from an address outside TRUSTED_PROXIES; if that is a ' +
          'proxy, all its clients share its address and the limits per address',
      );
    }
    if (reported.has(address) || trustedProxies.has(address) || internal.has(address)) return;
    const source = forwardedFor();
    if (source === undefined || internal.has(source)) return;
    const sources = watched.get(address) ?? new Set();
    watched.delete(address); // So that the least recent address is the first one.
    watched.set(address, sources.add(source));
    const [leastRecent] = watched.keys();
    if (watched.size > maxWatched && leastRecent !== undefined) watched.delete(leastRecent);
    if (sources.size <= maxForwardedFor) return;
    report(
      address,
      'a public address outside TRUSTED_PROXIES forwards requests of many clients; if it belongs to your load balancer ' +
        'or content delivery network, add it to TRUSTED_PROXIES: all its clients share its address and the limits per address',
    );
  };
}

/** Parses TRUSTED_PROXIES. Throws {@link SettingsError} if an entry is malformed or the entries cover all addresses. */
export function readTrustedProxies(cidrs: readonly string[]): CidrList {
  let proxies: CidrList;
  try {
    proxies = parseCidrs(cidrs);
  } catch (error) {
    throw new SettingsError(`TRUSTED_PROXIES: ${(error as Error).message}`);
  }
  if (proxies.coversAll)
    throw new SettingsError(
      'TRUSTED_PROXIES must not cover all addresses; otherwise clients could forge their address',
    );
  return proxies;
}
