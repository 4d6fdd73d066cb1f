import { isIP } from 'node:net';
import { createAddressGuard } from './addresses.ts';
import { createPortGuard } from './ports.ts';

/** A call was refused because of where it would have gone. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'BLOCKED_ADDRESS';
  /** What the name resolves to: for the operator's log, not for the message, which customers see. */
  readonly addresses: readonly string[];

  constructor(message: string, addresses: readonly string[] = []) {
    super(message);
    this.addresses = addresses;
  }
}

/** What stands against a call, as far as it shows without DNS. */
export type Refusal = 'scheme' | 'userinfo' | 'port' | 'local name' | 'address';

/** Where a call is to go; a URL is one. */
export interface Target {
  /** "https:"; undefined: not known here, and not judged. */
  readonly protocol?: string;
  /** A name, or an address with or without brackets. */
  readonly hostname: string;
  /** Empty: that of the protocol. */
  readonly port: string;
  readonly username?: string;
  readonly password?: string;
}

export interface GuardConfig {
  readonly allowHttp: boolean;
  /** Networks that are allowed though they are not public. */
  readonly allowCidrs: readonly string[];
  /** Ports that are allowed though other services have them. */
  readonly allowPorts?: readonly number[];
}

/** The rules on where webhooks may call; one for the check of a URL, for each connection and for the egress proxy. */
export interface EgressGuard {
  /** Whether an address may be dialled. */
  permitted(address: string): boolean;
  /** What stands against a target; undefined: nothing, as far as it shows without DNS. */
  refusal(target: Target): Refusal | undefined;
}

/** Names that lead nowhere from the public internet: RFC 6761, 6762, 8375, ICANN's "internal", Kubernetes, and customs. */
const localName =
  /(?:^|\.)(?:localhost|local|internal|localdomain|home\.arpa|svc|lan|home|corp|intranet|private|onion|in-addr\.arpa|ip6\.arpa)$/;

export function createEgressGuard({ allowHttp, allowCidrs, allowPorts = [] }: GuardConfig): EgressGuard {
  const permitted = createAddressGuard(allowCidrs);
  const portPermitted = createPortGuard(allowPorts);
  const hostRefusal = (host: string): Refusal | undefined => {
    if (isIP(host) !== 0) return permitted(host) ? undefined : 'address';
    if (host === 'localhost') return permitted('127.0.0.1') || permitted('::1') ? undefined : 'local name';
    // With a private network allowed a local name may lead into it: its addresses decide.
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

/** Without brackets and the dot of the root. */
export function hostOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** URLs leave out the port that is usual for their scheme. */
export function portOf({ protocol, port }: Target): string {
  return port || (protocol === 'http:' ? '80' : '443');
}

/** Whether a name belongs to this machine or network by its form. */
export function isLocalName(host: string): boolean {
  return localName.test(host) || !host.includes('.');
}

/** The refusal as an error, for the log of attempts. */
export function blockedBy(refusal: Refusal, { protocol = '', hostname, port }: Target): BlockedAddressError {
  const reasons: Record<Refusal, string> = {
    scheme: `${protocol} is not allowed`,
    userinfo: 'the URL holds a user name or password',
    port: `port ${port} is not one that webhooks may call`,
    'local name': `${hostname} is a local name`,
    address: `${hostname} is not a public address`,
  };
  return new BlockedAddressError(reasons[refusal]);
}
