import ipaddr from 'ipaddr.js';

/** Networks to look addresses up in. */
export interface CidrList {
  /** Whether the address, in normal form, is inside one of them. */
  has(address: string): boolean;
  readonly empty: boolean;
  /** Whether they hold, together, every address that a client on the internet can have, of IPv4 or of IPv6. */
  readonly coversAll: boolean;
}

type Family = 'ipv4' | 'ipv6';

/** From the first to the last address, as numbers. */
interface Range {
  first: bigint;
  last: bigint;
}

interface Parsed {
  readonly family: Family;
  readonly value: bigint;
}

const bitsOf = { ipv4: 32, ipv6: 128 } as const;

/** What clients on the internet can have: unicast of IPv4 without 0.0.0.0/8, and global unicast of IPv6 (2000::/3). */
const unicast = {
  ipv4: { first: 1n << 24n, last: (224n << 24n) - 1n },
  ipv6: { first: 1n << 125n, last: (1n << 126n) - 1n },
} as const;

/** Throws an error for a person if one is no address or CIDR. */
export function parseCidrs(cidrs: readonly string[]): CidrList {
  const ranges: Record<Family, Range[]> = { ipv4: [], ipv6: [] };
  for (const { family, ...range } of cidrs.map(parseCidr)) ranges[family].push(range);
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

/** The one spelling of an address: IPv4-mapped IPv6 as IPv4, IPv6 compressed, no zone. Undefined if it is no address. */
export function normalizeAddress(text: string): string | undefined {
  if (isPlainIPv4(text)) return text;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  return bare.includes(':') ? parseIPv6(bare)?.toString() : undefined;
}

/**
 * Four decimal parts without leading zeros only: other spellings of IPv4 mean different things to different readers.
 */
function isPlainIPv4(text: string): boolean {
  return text.length <= 15 && ipaddr.IPv4.isValidFourPartDecimal(text);
}

function parseAddress(text: string): Parsed | undefined {
  const address = isPlainIPv4(text) ? ipaddr.IPv4.parse(text) : text.includes(':') ? parseIPv6(text) : undefined;
  return address && { family: address.kind(), value: numberOf(address) };
}

const longestIPv6 = 45;

/** Without its zone, which means something on one machine only; as IPv4 if it is mapped. */
function parseIPv6(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const zone = text.indexOf('%');
  const address = zone < 0 ? text : text.slice(0, zone);
  if (address.length > longestIPv6 || (zone >= 0 && !/^%[\w.-]{1,32}$/.test(text.slice(zone)))) return undefined;
  const hex = withoutDots(address);
  return hex !== undefined && ipaddr.IPv6.isValid(hex) ? unmapped(ipaddr.IPv6.parse(hex)) : undefined;
}

/** Looks at the bits; asking ipaddr.js for the range takes ten times as long. */
function unmapped(address: ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  const [high = 0, low = 0] = address.parts.slice(6);
  const mapped = address.parts[5] === 0xffff && address.parts.slice(0, 5).every((part) => part === 0);
  return mapped ? new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]) : address;
}

/** A last part that is written as IPv4 in hexadecimal, for ipaddr.js takes "::192.0.2.1" for a mapped address. */
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

function parseCidr(text: string): Range & { family: Family } {
  const [address = '', bits, rest] = text.split('/');
  const normal = normalizeAddress(address);
  const parsed = normal === undefined || rest !== undefined ? undefined : parseAddress(normal);
  if (!parsed) throw new Error(`"${text}" is neither an address nor a CIDR`);
  const { family, value } = parsed;
  const mapped = family === 'ipv4' && address.includes(':');
  const length = bits === undefined ? bitsOf[family] : Number(bits) - (mapped ? 96 : 0);
  if (!/^\d{1,3}$/.test(bits ?? '0') || length < 0 || length > bitsOf[family])
    throw new Error(`"${text}" is not a CIDR`);
  const hostBits = BigInt(bitsOf[family] - length);
  const first = (value >> hostBits) << hostBits;
  return { family, first, last: first + (1n << hostBits) - 1n };
}

/** In order, without overlaps and seams. */
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
