import { isIP, isIPv6 } from 'node:net';
import { normalizeAddress, parseCidrs } from '@rms/base/cidr';

// Networks from IANA's special-purpose registries, which are not on the public internet.
const notPublicV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
// Azure's host serves metadata and credentials to its virtual machines at this address, although it is public.
const metadataV4 = ['168.63.129.16'];
// IPv6 must be global unicast, which excludes mapped, link-local and unique local addresses.
const globalV6 = ['2000::/3'];
// Teredo, ORCHID and other protocols, documentation, 6to4, AS112, the former 6bone.
const notPublicV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3ffe::/16', '3fff::/20'];
// Translators to IPv4, which DNS64 returns in networks without IPv4 (RFC 6052, RFC 8215).
const nat64 = parseCidrs(['64:ff9b::/96', '64:ff9b:1::/48']);

const deniedV4 = parseCidrs([...notPublicV4, ...metadataV4]);
const allowedV6 = parseCidrs(globalV6);
const deniedV6 = parseCidrs(notPublicV6);

/**
 * Returns whether an address is on the public internet. An IPv6 address with a zone is not. An address of a NAT64
 * translator is if the embedded IPv4 address is.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%') || normalizeAddress(address) === undefined) return false;
  if (family === 4) return !deniedV4.has(address);
  const embedded = embeddedIPv4(address);
  if (embedded.length > 0) return nat64.has(address) && embedded.every(isPublicAddress);
  return allowedV6.has(address) && !deniedV6.has(address);
}

/**
 * Creates a check for the addresses that webhooks may reach: public addresses and networks that the operator allows,
 * except networks that the operator denies. An IPv6 address that embeds an IPv4 address is permitted only if the IPv4
 * address is, because the call may end there.
 */
export function createAddressGuard(
  allowCidrs: readonly string[],
  denyCidrs: readonly string[] = [],
): (address: string) => boolean {
  const allowed = parseCidrs(allowCidrs);
  const denied = parseCidrs(denyCidrs);
  const permitted = (address: string): boolean => {
    if (isIP(address) === 0 || address.includes('%') || denied.has(address)) return false;
    const embedded = embeddedIPv4(address);
    if (embedded.length === 0) return isPublicAddress(address) || allowed.has(address);
    return (nat64.has(address) || allowed.has(address)) && embedded.every(permitted);
  };
  return permitted;
}

/**
 * Returns the IPv4 addresses that a router or this machine may translate an IPv6 address to: of NAT64 (RFC 6052, RFC
 * 8215), 6to4, Teredo, ISATAP, and of mapped and compatible addresses. An address in 64:ff9b:1::/48 has several
 * readings, because the translator's prefix length is not known. Empty if the address embeds none.
 */
function embeddedIPv4(address: string): readonly string[] {
  if (!isIPv6(address)) return [];
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groupsOf(address);
  const last = ipv4(g, h);
  if (a === 0x64 && b === 0xff9b) {
    if ((c | d | e | f) === 0) return [last];
    if (c === 1) return localNat64(d, e, f, g, h);
  }
  if (a === 0x2002) return [ipv4(b, c)];
  // Teredo: the server, and the inverted address of the client.
  if (a === 0x2001 && b === 0) return [ipv4(c, d), ipv4(g ^ 0xffff, h ^ 0xffff)];
  if ((e & 0xfdff) === 0 && f === 0x5efe) return [last];
  // "::" and "::1" are not compatible addresses.
  if ((a | b | c | d | e) === 0 && (f === 0xffff || (f === 0 && (g !== 0 || h > 1)))) return [last];
  return [];
}

/**
 * Readings with prefixes of 48, 56, 64 and 96 bits. A translator may ignore the bits after the embedded address. If the
 * groups between a prefix of 64 bits and the last two are zero, a prefix of 48 bits leaves the first address of a /16
 * network, which can be a host unless it is 0.0.0.0 or reserved (240.0.0.0/4). Prefixes of 56 and 64 bits leave only
 * network addresses.
 */
function localNat64(d: number, e: number, f: number, g: number, h: number): string[] {
  if ((e | f) === 0) return [ipv4(g, h), ...(d === 0 || d >= 0xf000 ? [] : [ipv4(d, 0)])];
  const [middle, rest] = [(e & 0xff) << 8, f >> 8];
  return [
    ipv4(d, middle | rest),
    ipv4(((d & 0xff) << 8) | (e & 0xff), f),
    ipv4(middle | rest, ((f & 0xff) << 8) | (g >> 8)),
    // After an embedded address, nothing follows.
    ...((g | h) === 0 ? [] : [ipv4(g, h)]),
  ];
}

function ipv4(high: number, low: number): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Returns the eight groups of an address. */
function groupsOf(address: string): number[] {
  // Normalizes to the spelling of RFC 5952, without dotted IPv4.
  const [before = '', after] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const numbers = (text = '') => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [first, last] = [numbers(before), numbers(after)];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
