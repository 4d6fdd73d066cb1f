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
// IPv6 is refused unless it is global unicast: mapped, NAT64, link-local and unique local addresses are all outside.
const globalV6 = ['2000::/3'];
// Teredo and other protocols, documentation, 6to4 (which holds any IPv4 address).
const notPublicV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const deniedV4 = networks(notPublicV4);
const allowedV6 = networks(globalV6);
const deniedV6 = networks(notPublicV6);

/** Whether an address is on the public internet. An IPv6 address with a zone is not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !deniedV4.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return allowedV6.check(address, 'ipv6') && !deniedV6.check(address, 'ipv6');
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
