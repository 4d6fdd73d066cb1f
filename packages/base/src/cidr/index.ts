import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A set of IP networks. */
export interface CidrList {
  /** Returns whether one of the networks contains the address, which must be in normal form. */
  has(address: string): boolean;
  readonly empty: boolean;
  /** Whether the networks together contain every address that an internet client can have, in IPv4 or in IPv6. */
  readonly coversAll: boolean;
}

type Family = 'ipv4' | 'ipv6';

/** First and last address of a network, as numbers. */
interface Range {
  first: bigint;
  last: bigint;
}

interface Network extends Range {
  readonly family: Family;
  readonly bits: number;
}

interface Parsed {
  readonly family: Family;
  readonly value: bigint;
}

const bitsOf = { ipv4: 32, ipv6: 128 } as const;

/** Addresses of internet clients: IPv4 unicast without 0.0.0.0/8, and IPv6 global unicast (2000::/3). */
const unicast = {
  ipv4: { first: 1n << 24n, last: (224n << 24n) - 1n },
  ipv6: { first: 1n << 125n, last: (1n << 126n) - 1n },
} as const;

/** Parses addresses and CIDRs. Throws an error with a human-readable message if an entry is malformed. */
export function parseCidrs(cidrs: readonly string[]): CidrList {
  const ranges: Record<Family, Range[]> = { ipv4: [], ipv6: [] };
  for (const cidr of cidrs) {
    const network = parseNetwork(cidr);
    if (!network) throw new Error(`"${cidr}" is neither an address nor a CIDR`);
    const { family, first, last } = network;
    ranges[family].push({ first, last });
  }
  const merged = { ipv4: merge(ranges.ipv4), ipv6: merge(ranges.ipv6) };
  const covers = (family: Family) =>
    merged[family].some(({ first, last }) => first <= unicast[family].first && last >= unicast[family].last);
  return {
    empty: cidrs.length === 0,
    coversAll: covers('ipv4') || covers('ipv6'),
    has(address) {
      const parsed = cidrs.length === 0 ? undefined : parseAddress(address);
      return parsed !== undefined && holds(merged[parsed.family], parsed.value);
    },
  };
}

/**
 * Returns the normal form of an address: IPv4-mapped IPv6 as IPv4, IPv6 compressed, no zone. Returns undefined if it is
 * malformed.
 */
export function normalizeAddress(text: string): string | undefined {
  if (isPlainIPv4(text)) return text;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  return bare.includes(':') ? parseIPv6(bare)?.toString() : undefined;
}

/**
 * Returns the normalized CIDR ("10.1.2.3/8" → "10.0.0.0/8", "::ffff:192.0.2.1" → "192.0.2.1/32"); undefined for invalid
 * text.
 */
export function normalizeCidr(text: string): string | undefined {
  const network = parseNetwork(text);
  return network && `${textOf(network.family, network.first)}/${network.bits}`;
}

/**
 * Returns an IPv4 address itself, and the /64 of an IPv6 address, because a client usually controls its whole /64.
 * Returns '' for invalid text.
 */
export function networkOf(address: string): string {
  const parsed = parseAddress(address);
  if (!parsed) return '';
  const { family, value } = parsed;
  return family === 'ipv4' ? textOf(family, value) : `${textOf(family, (value >> 64n) << 64n)}/64`;
}

/** Accepts only four decimal parts without leading zeros, because parsers disagree about other spellings of IPv4. */
function isPlainIPv4(text: string): boolean {
  return text.length <= 15 && ipaddr.IPv4.isValidFourPartDecimal(text);
}

function parseAddress(text: string): Parsed | undefined {
  const address = isPlainIPv4(text) ? ipaddr.IPv4.parse(text) : text.includes(':') ? parseIPv6(text) : undefined;
  return address && { family: address.kind(), value: numberOf(address) };
}

const maxIPv6Length = 45;

/** Parses without the zone, which is only meaningful on one machine. Returns a mapped address as IPv4. */
function parseIPv6(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const zone = text.indexOf('%');
  const address = zone < 0 ? text : text.slice(0, zone);
  if (address.length > maxIPv6Length || (zone >= 0 && !/^%[\w.-]{1,32}$/.test(text.slice(zone)))) return undefined;
  const hex = withoutDots(address);
  return hex !== undefined && ipaddr.IPv6.isValid(hex) ? unmapped(ipaddr.IPv6.parse(hex)) : undefined;
}

/** Converts a mapped address to IPv4. Compares bits because the range lookup of ipaddr.js takes ten times as long. */
function unmapped(address: ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  const [high = 0, low = 0] = address.parts.slice(6);
  const mapped = address.parts[5] === 0xffff && address.parts.slice(0, 5).every((part) => part === 0);
  return mapped ? new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]) : address;
}

/** Rewrites a trailing IPv4 part in hexadecimal, because ipaddr.js treats "::192.0.2.1" as a mapped address. */
function withoutDots(address: string): string | undefined {
  if (!address.includes('.')) return address;
  const start = address.lastIndexOf(':') + 1;
  const dotted = address.slice(start);
  if (!isPlainIPv4(dotted)) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${address.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  const hex =
    address instanceof ipaddr.IPv4
      ? address.octets.map((octet) => (octet | 0x100).toString(16).slice(1))
      : address.parts.map((part) => (part | 0x10000).toString(16).slice(1));
  return BigInt(`0x${hex.join('')}`);
}

function textOf(family: Family, value: bigint): string {
  const hex = value.toString(16).padStart(bitsOf[family] / 4, '0');
  return ipaddr.fromByteArray([...Buffer.from(hex, 'hex')]).toString();
}

/** Parses an address or CIDR; undefined for invalid text. Rejects brackets, zones and leading zeros. */
function parseNetwork(text: string): Network | undefined {
  const [address = '', length, ...more] = text.split('/');
  if (more.length > 0 || isIP(address) === 0 || address.includes('%')) return undefined;
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const parsed = parseAddress(address);
  if (!parsed) return undefined;
  const { family, value } = parsed;
  const mapped = family === 'ipv4' && address.includes(':');
  const bits = length === undefined ? bitsOf[family] : Number(length) - (mapped ? 96 : 0);
  if (bits < 0 || bits > bitsOf[family]) return undefined;
  const hostBits = BigInt(bitsOf[family] - bits);
  const first = (value >> hostBits) << hostBits;
  return { family, bits, first, last: first + (1n << hostBits) - 1n };
}

/** Sorts ranges and merges overlapping and adjacent ranges. */
function merge(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = [];
  for (const range of [...ranges].sort((a, b) => (a.first < b.first ? -1 : 1))) {
    const before = merged.at(-1);
    if (!before || range.first > before.last + 1n) merged.push({ ...range });
    else if (range.last > before.last) before.last = range.last;
  }
  return merged;
}

function holds(ranges: readonly Range[], value: bigint): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { first, last } = ranges[middle] as Range;
    if (value < first) high = middle;
    else if (value > last) low = middle + 1;
    else return true;
  }
  return false;
}
