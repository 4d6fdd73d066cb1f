import { isIP } from 'node:net';
import { normalizeAddress, parseCidrs } from '@rms/base/cidr';
import { embeddedIPv4 } from './embedded-ipv4.ts';

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
