import { BlockList, isIP } from 'node:net';

// The special-purpose registries of IANA: what is in here is not on the public internet.
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
// Azure's host answers its virtual machines there, metadata and credentials included, though the address is a public one.
const metadataV4 = ['168.63.129.16'];
// IPv6 is refused unless it is global unicast: mapped, NAT64, link-local and unique local addresses are all outside.
const globalV6 = ['2000::/3'];
// Teredo, ORCHID and other protocols, documentation, 6to4 (which holds any IPv4 address), AS112, the former 6bone.
const notPublicV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3ffe::/16', '3fff::/20'];
// RFC 5214: an IPv4 address follows that part of the address, whatever its network is.
const isatap = /:(?:200:|0:)?5efe:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/;

const deniedV4 = networks([...notPublicV4, ...metadataV4]);
const allowedV6 = networks(globalV6);
const deniedV6 = networks(notPublicV6);

/** Whether an address is on the public internet. An IPv6 address with a zone is not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !deniedV4.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return allowedV6.check(address, 'ipv6') && !deniedV6.check(address, 'ipv6') && !isIsatap(address);
}

function isIsatap(address: string): boolean {
  // The one spelling of RFC 5952, without a dotted half; "::" may stand for the zeros before 5efe.
  const host = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  return isatap.test(host);
}

/** Decides which addresses webhooks may reach: public ones, and those in networks that the operator allows. */
export function createAddressGuard(allowCidrs: readonly string[]): (address: string) => boolean {
  const allowed = networks(allowCidrs);
  return (address) => {
    if (isPublicAddress(address)) return true;
    const family = isIP(address);
    return family !== 0 && !address.includes('%') && allowed.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/** A network as [address, bits]. Throws a text for a person. */
export function parseCidr(cidr: string): [address: string, bits: number] {
  const [address = '', length] = cidr.split('/');
  const family = isIP(address);
  const bits = length === undefined ? (family === 6 ? 128 : 32) : Number(length);
  if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 6 ? 128 : 32)) {
    throw new Error(`"${cidr}" is neither an address nor a CIDR`);
  }
  return [address, bits];
}

function networks(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address, bits] = parseCidr(cidr);
    list.addSubnet(address, bits, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
