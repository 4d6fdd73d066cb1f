import type { IncomingHttpHeaders } from 'node:http';
import { normalizeAddress } from '@rms/base/cidr';
import { parseParameters, startOfLastEntry } from './parameters.ts';

/** A proxy's statement about the connection that it received the request on. */
export interface ForwardedEntry {
  /** Node that sent the request to the proxy, as received; undefined if the proxy does not name it. */
  readonly node: string | undefined;
  /** In lower case; undefined if the proxy reports no scheme. */
  readonly proto: string | undefined;
}

/** Statements of proxies about a request. */
export interface Forwarded {
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
export function readForwarded(headers: IncomingHttpHeaders): Forwarded | undefined {
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

/** Maximum length of an entry with an address: quotes, brackets, a zone, a port. */
const maxNodeLength = 100;
/** The port can be obfuscated (RFC 7239, 6.2). */
const withPort = /^(\[[^\]]*\]|[\d.]+):(?:\d{1,5}|_[\w.-]+)$/;

/**
 * Returns the address of "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:4711", also in
 * quotes. Returns undefined for other text, such as "unknown" and obfuscated identifiers ("_proxy").
 */
export function addressOfNode(node: string): string | undefined {
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
