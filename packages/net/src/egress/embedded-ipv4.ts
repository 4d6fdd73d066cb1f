import { isIPv6 } from 'node:net';

/**
 * Returns the IPv4 addresses that a router or this machine may translate an IPv6 address to: of NAT64 (RFC 6052, RFC
 * 8215), 6to4, Teredo, ISATAP, and of mapped and compatible addresses. An address in 64:ff9b:1::/48 has several
 * readings, because the translator's prefix length is not known. Empty if the address embeds none.
 */
export function embeddedIPv4(address: string): readonly string[] {
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
