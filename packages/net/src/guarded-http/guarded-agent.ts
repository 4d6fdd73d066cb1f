import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { buildConnector, type Pool } from 'undici';
import { errorOfStatus, type HttpProxy, hostOf, openTunnel } from '../dial/index.ts';
import { BlockedAddressError, blockedBy, dialTarget } from '../egress/index.ts';
import { ConnectClock, ConnectError, noteConnected } from './connection-times.ts';
import type { Egress } from './egress.ts';
import { OpenConnections, OriginPools } from './origin-pools.ts';

export interface GuardedAgentOptions {
  readonly egress: Egress;
  /** Returns the certificate authorities that are trusted instead of Node's, as they are now. */
  readonly ca?: () => Authorities;
  /** Client certificate for endpoints that request one; PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** Maximum number of connection pools that are kept. */
  readonly poolsKept?: number;
  /** Limits the connections of all agents that share it. */
  readonly connections?: OpenConnections;
}

type Target = buildConnector.Options;

/** Timeout for the connection, and again for the TLS handshake. */
const connectTimeoutMs = 5_000;
/** Age of a connection that gets no further request, and longest time that it is kept idle. */
const maxConnectionAgeMs = 60_000;

/**
 * Creates an HTTP client that connects only to permitted addresses (invariant 5 in ARCHITECTURE.md). It resolves a name
 * once and dials the addresses that it checked, so that a changed DNS response cannot bypass the check. It also checks
 * IP literals, schemes, ports, local names, and the connected socket's address. It does not follow redirects.
 *
 * With an egress proxy, the proxy resolves, checks and dials the address. Everything that can be checked without DNS is
 * still checked here. TLS runs end to end between this client and the endpoint.
 */
export function createGuardedAgent({
  egress,
  ca,
  client,
  poolsKept = 1_000,
  connections = new OpenConnections(),
}: GuardedAgentOptions): OriginPools {
  const { guard, resolve, proxyFor } = egress;
  const connector = createConnector(client);

  const connectDirectly = async (target: Target, clock: ConnectClock) => {
    const plain = await dialTarget(target, {
      guard,
      resolve,
      timeoutMs: connectTimeoutMs,
      onResolved: () => clock.resolved(),
    });
    clock.connected();
    const address = plain.remoteAddress;
    return { socket: await secured(target, plain), times: clock.times(), address };
  };

  const connectThrough = async (proxy: HttpProxy, target: Target, clock: ConnectClock) => {
    const refusal = guard.refusal(target);
    if (refusal) throw blockedBy(refusal, target);
    clock.resolvedByProxy();
    const { socket: tunnel, headers } = await openTunnel(proxy, target, {
      timeoutMs: connectTimeoutMs,
      ca: ca?.(),
      errorOf: errorOfResponse,
    });
    clock.connected();
    return { socket: await secured(target, tunnel), times: clock.times(), address: dialedByProxy(headers) };
  };

  /** Starts TLS on the socket if the target requires it. */
  const secured = (target: Target, plain: Socket) =>
    target.protocol === 'https:'
      ? new Promise<Socket>((done, fail) => {
          const host = hostOf(target.hostname);
          const servername = isIP(host) === 0 ? host : '';
          connector(ca?.())({ ...target, servername, httpSocket: plain }, (error, socket) => {
            if (socket) return done(socket);
            plain.destroy();
            fail(error ?? new Error('no socket'));
          });
        })
      : plain;

  const options: Pool.Options = {
    // Not limited here, because the engine limits attempts. Webhooks that share an origin do not wait for one another.
    connections: null,
    // Otherwise requests to an https origin wait for the first handshake, to see whether it negotiates HTTP/2.
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: maxConnectionAgeMs,
    // A busy connection would otherwise never follow changed addresses of the name, of the proxy, of the certificate
    // authorities, or of the endpoint's certificate.
    clientTtl: maxConnectionAgeMs,
    connect(target, callback) {
      const proxy = proxyFor(target);
      const clock = new ConnectClock(target.protocol === 'https:');
      const connected = proxy ? connectThrough(proxy, target, clock) : connectDirectly(target, clock);
      connected.then(
        ({ socket, times, address }) => {
          noteConnected(socket, times, address);
          callback(null, socket);
        },
        (error: NodeJS.ErrnoException) => callback(new ConnectError(error, clock), null),
      );
    },
  };
  return new OriginPools(options, poolsKept, connections);
}

/**
 * Creates a function that returns undici's TLS connector for certificate authorities. It keeps the connector of the
 * latest ones, because reading certificates takes milliseconds, and another connector resumes no sessions.
 */
function createConnector(client: GuardedAgentOptions['client']) {
  let latest: { ca: Authorities | undefined; connector: buildConnector.connector } | undefined;
  return (ca: Authorities | undefined): buildConnector.connector => {
    if (latest && latest.ca === ca) return latest.connector;
    const options = {
      timeout: connectTimeoutMs,
      allowH2: false,
      rejectUnauthorized: true,
      secureContext: createSecureContext({
        minVersion: 'TLSv1.2',
        ...(ca ? { ca: typeof ca === 'string' ? ca : [...ca] } : {}),
        ...client,
      }),
    };
    const connector = buildConnector(options as buildConnector.BuildOptions);
    latest = { ca, connector };
    return connector;
  };
}

/** Certificate authorities in PEM format. */
export type Authorities = string | readonly string[];

/** Adds the public authorities to those that `additional` returns. The result is the same array until they change. */
export function withPublic(additional: () => string): () => Authorities {
  let known = '';
  let all: Authorities = rootCertificates;
  return () => {
    const now = additional();
    if (now !== known) all = [...rootCertificates, now];
    known = now;
    return all;
  };
}

/** Error types of Proxy-Status (RFC 9209), mapped to the same errors' codes without a proxy. */
const sameErrors: Readonly<Record<string, string>> = {
  dns_error: 'ENOTFOUND',
  dns_timeout: 'DNS_FAILED',
  connection_refused: 'ECONNREFUSED',
  connection_timeout: 'UND_ERR_CONNECT_TIMEOUT',
  destination_ip_unroutable: 'EHOSTUNREACH',
};

/**
 * Returns the reason why a proxy did not connect. The proxy's own text is omitted, because it may contain addresses of
 * the operator's network, and customers read the delivery log.
 * @param authority the requested host:port
 */
function errorOfResponse(status: number, headers: IncomingHttpHeaders, authority: string): Error {
  const error = /;\s*error="?([a-z_]+)/.exec(String(headers['proxy-status'] ?? ''))?.[1] ?? '';
  // Smokescreen responds with 407 to destinations that it rejects.
  const refused = status === 403 || (status === 407 && headers['x-smokescreen-error'] !== undefined);
  if (refused || error === 'destination_ip_prohibited' || error === 'http_request_denied') {
    return new BlockedAddressError(`the egress proxy rejected ${authority}`);
  }
  const code = sameErrors[error];
  if (code) return Object.assign(new Error('the egress proxy got no response'), { code });
  return errorOfStatus(status);
}

/** Returns the address that the proxy reports to have dialed; undefined if it does not report one. */
function dialedByProxy(headers: IncomingHttpHeaders): string | undefined {
  const nextHop = /;\s*next-hop="?([0-9a-fA-F:.]+)/.exec(String(headers['proxy-status'] ?? ''))?.[1] ?? '';
  return isIP(nextHop) === 0 ? undefined : nextHop;
}
