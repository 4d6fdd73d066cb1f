import { isIP } from 'node:net';
import { hostOf, type Target } from '../dial/index.ts';
import { createAddressGuard } from './addresses.ts';
import { createPortGuard } from './ports.ts';

/** Thrown if a call is rejected because of its destination. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'BLOCKED_ADDRESS';
  /** The name's addresses. For the operator's log only, because customers see the message. */
  readonly addresses: readonly string[];

  constructor(message: string, addresses: readonly string[] = []) {
    super(message);
    this.addresses = addresses;
  }
}

/** Reasons to reject a call that can be determined without DNS. */
export type Refusal = 'scheme' | 'userinfo' | 'port' | 'local name' | 'address';

/** Settings that change which targets are allowed; by default HTTPS to public addresses. */
export interface GuardConfig {
  readonly allowHttp: boolean;
  /** Networks that are allowed although they are not public. */
  readonly allowCidrs: readonly string[];
  /** Networks that are rejected although they are public or allowed. */
  readonly denyCidrs?: readonly string[];
  /** Ports that are allowed although they usually belong to other services. */
  readonly allowPorts?: readonly number[];
}

/** The rules for webhook destinations, shared by the URL check, every connection and the egress proxy. */
export interface EgressGuard {
  /** Returns whether an address may be dialed. */
  permitted(address: string): boolean;
  /** Returns the reason to reject a target; undefined if none can be determined without DNS. */
  refusal(target: Target): Refusal | undefined;
}

/**
 * Names that are not reachable from the public internet: RFC 6761, 6762, 8375, ICANN's "internal", Kubernetes, and
 * common private suffixes.
 */
const localName =
  /(?:^|\.)(?:localhost|local|internal|localdomain|home\.arpa|svc|lan|home|corp|intranet|private|onion|in-addr\.arpa|ip6\.arpa)$/;

export function createEgressGuard({ allowHttp, allowCidrs, denyCidrs, allowPorts = [] }: GuardConfig): EgressGuard {
  const permitted = createAddressGuard(allowCidrs, denyCidrs);
  const portPermitted = createPortGuard(allowPorts);
  const hostRefusal = (host: string): Refusal | undefined => {
    if (isIP(host) !== 0) return permitted(host) ? undefined : 'address';
    if (host === 'localhost') return permitted('127.0.0.1') || permitted('::1') ? undefined : 'local name';
    // If a private network is allowed, a local name may resolve into it, so its addresses decide.
    return isLocalName(host) && allowCidrs.length === 0 ? 'local name' : undefined;
  };
  return {
    permitted,
    refusal({ protocol, hostname, port, username, password }) {
      if (protocol !== undefined && protocol !== 'https:' && !(allowHttp && protocol === 'http:')) return 'scheme';
      if (username || password) return 'userinfo';
      if (port !== '' && !portPermitted(Number(port))) return 'port';
      return hostRefusal(hostOf(hostname));
    },
  };
}

/** Returns whether a name refers to this machine or its network. */
export function isLocalName(host: string): boolean {
  return localName.test(host) || !host.includes('.');
}

/** Converts a refusal to an error for the delivery log. */
export function blockedBy(refusal: Refusal, { protocol = '', hostname, port }: Target): BlockedAddressError {
  const reasons: Record<Refusal, string> = {
    scheme: `${protocol} is not allowed`,
    userinfo: 'the URL contains a user name or password',
    port: `port ${port} is not allowed for webhooks`,
    'local name': `${hostname} is a local name`,
    address: `${hostname} is not a public address`,
  };
  return new BlockedAddressError(reasons[refusal]);
}
