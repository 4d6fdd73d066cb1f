export { type CidrList, networkOf, normalizeAddress, normalizeCidr, parseCidrs } from './cidr-list.ts';
