import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Networks to look addresses up in. */
export interface CidrList {
  /** Whether the address, in normal form, is inside one of them. */
  has(address: string): boolean;
  readonly empty: boolean;
  /** Whether one of them is all of IPv4 or IPv6. */
  readonly coversAll: boolean;
}

/** Throws an error for a person if one is no address or CIDR. */
export function parseCidrs(cidrs: readonly string[]): CidrList {
  const ranges = cidrs.map(parseCidr);
  return {
    empty: ranges.length === 0,
    coversAll: ranges.some(([, bits]) => bits === 0),
    has(address) {
      if (!ipaddr.isValid(address)) return false;
      const parsed = ipaddr.process(address);
      return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
    },
  };
}

/** The one spelling of an address: IPv4-mapped IPv6 as IPv4, IPv6 compressed. Undefined if it is no address. */
export function normalizeAddress(text: string): string | undefined {
  const address = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  // Four decimal parts only: other spellings of IPv4 mean different things to different readers.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !(address.includes(':') && ipaddr.IPv6.isValid(address))) return;
  return ipaddr.process(address).toString();
}

function parseCidr(text: string): Range {
  const [address = '', bits, rest] = text.split('/');
  if (!normalizeAddress(address) || rest !== undefined) throw new Error(`"${text}" is neither an address nor a CIDR`);
  const parsed = ipaddr.process(address);
  const mapped = parsed.kind() === 'ipv4' && address.includes(':');
  const longest = parsed.kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? longest : Number(bits) - (mapped ? 96 : 0);
  if (!/^\d{1,3}$/.test(bits ?? '0') || length < 0 || length > longest) throw new Error(`"${text}" is not a CIDR`);
  return [parsed, length];
}
