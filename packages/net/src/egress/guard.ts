import { isIP, type Socket } from 'node:net';
import { parseCidrs } from '@rms/base/cidr';
import { orSettingsError, type Settings } from '@rms/runtime/settings';
import { dial, hostOf, portOf, type Resolve, type SelectAddresses, type Target } from '../dial/index.ts';
import { createAddressGuard } from './addresses.ts';
import { createResolve } from './resolve.ts';

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

/**
 * Reads the rules that webhooks and the egress proxy apply. Throws {@link SettingsError} with the name of the invalid
 * setting.
 */
export function readGuardConfig(settings: Settings): GuardConfig & { readonly dnsServers: readonly string[] } {
  const { WEBHOOK_ALLOW_CIDRS: allowCidrs, WEBHOOK_DENY_CIDRS: denyCidrs, WEBHOOK_DNS_SERVERS: dnsServers } = settings;
  orSettingsError(() => parseCidrs(allowCidrs), 'WEBHOOK_ALLOW_CIDRS: ');
  orSettingsError(() => parseCidrs(denyCidrs), 'WEBHOOK_DENY_CIDRS: ');
  orSettingsError(() => createResolve(dnsServers), 'WEBHOOK_DNS_SERVERS: ');
  const allowPorts = orSettingsError(() => settings.WEBHOOK_ALLOW_PORTS.map(parsePort), 'WEBHOOK_ALLOW_PORTS: ');
  return { allowHttp: settings.WEBHOOK_ALLOW_HTTP, allowCidrs, denyCidrs, allowPorts, dnsServers };
}

/** The HTTP ports below 1024. All other ports below 1024 belong to other protocols. */
const webPorts = [80, 443];
const lowestFreePort = 1_024;

/**
 * Blocked ports from 1024 upwards: the "bad ports" of the Fetch standard, then ports of data stores and of machine
 * administration.
 */
const takenPorts = new Set([
  ...[
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  ],
  // SQL Server, Oracle, MySQL, PostgreSQL, Redis, CouchDB, Cassandra, Elasticsearch, Memcached, MongoDB.
  ...[1433, 1521, 3306, 5432, 6379, 5984, 9042, 9200, 9300, 11211, 27017, 27018, 27019],
  // ZooKeeper, etcd, AMQP, Kafka.
  ...[2181, 2379, 2380, 5671, 5672, 9092],
  // Docker, Kubernetes, remote desktops, WinRM.
  ...[2375, 2376, 6443, 10250, 10255, 3389, 5900, 5985, 5986],
]);

/**
 * Creates a check for the ports that webhooks may call: the web ports, ports without a well-known service, and the
 * ports the operator allows.
 */
function createPortGuard(allowPorts: readonly number[]): (port: number) => boolean {
  const allowed = new Set([...webPorts, ...allowPorts]);
  return (port) => allowed.has(port) || (port >= lowestFreePort && port <= 65_535 && !takenPorts.has(port));
}

/** Parses a port number. Throws an error with a message for the operator. */
function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw new Error(`"${text}" is not a port`);
  return port;
}

export interface DialTargetOptions {
  readonly guard: EgressGuard;
  readonly resolve: Resolve;
  /** For resolving and connecting together. */
  readonly timeoutMs: number;
  /** Whether the socket stays open for writing after the other side ends. Defaults to false. */
  readonly allowHalfOpen?: boolean;
  /** Called when the first address is dialed. */
  readonly onResolved?: () => void;
}

/**
 * Opens a TCP connection if the guard permits the target. Dials exactly the addresses that the guard has checked, and
 * rejects as `dial` does.
 *
 * IPv4 is dialed first, unlike in RFC 8305: receivers permit the IPv4 addresses of senders in their firewalls.
 */
export async function dialTarget(target: Target, { guard, ...options }: DialTargetOptions): Promise<Socket> {
  const refusal = guard.refusal(target);
  if (refusal) throw blockedBy(refusal, target);
  return dial({
    ...options,
    host: hostOf(target.hostname),
    port: Number(portOf(target)),
    firstFamily: 4,
    select: selectPermitted(guard),
    refuse: (address) =>
      address !== undefined && guard.permitted(address)
        ? undefined
        : new BlockedAddressError('connected to an address that is not public', address ? [address] : []),
  });
}

/**
 * Selects permitted addresses. A single forbidden address rejects the name: mixed responses are an attack or a
 * misconfiguration. Of `localhost`, the permitted addresses are enough.
 */
export function selectPermitted(guard: EgressGuard): SelectAddresses {
  return (host, found, earlier) => {
    if (host === 'localhost') return found.filter(guard.permitted);
    if (found.every(guard.permitted)) return found;
    throw new BlockedAddressError(`${host} resolves to an address that is not public`, [...earlier, ...found]);
  };
}
