import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  type Logger,
  type Metrics,
  type MetricsServer,
  type Service,
  serveMetrics,
  starting,
  stopping as stoppingState,
} from '@rms/service';
import { dial } from '../egress/dial.ts';
import { BlockedAddressError, createEgressGuard } from '../egress/guard.ts';
import { createGuardedLookup } from '../egress/lookup.ts';
import { createResolve } from '../egress/resolve.ts';
import { confirm, denialOf, deny } from './answer.ts';
import { parseAuthority } from './authority.ts';
import type { EgressProxyConfig } from './config.ts';
import { createCredentialCheck } from './credentials.ts';
import { createEgressProxyMetrics } from './metrics.ts';
import { joinSockets } from './tunnel.ts';

export interface EgressProxy extends Service {
  /** "127.0.0.1:4750"; known once it has started. */
  readonly address: string;
}

const headLimitBytes = 8 * 1024;

/**
 * A forward proxy that takes CONNECT only and applies to each address that it dials the rules that webhooks have: for
 * networks in which nothing but this proxy may call out. What passes through is TLS with the endpoint, which it can't read.
 */
export function createEgressProxy(
  config: EgressProxyConfig,
  { log, metrics }: { log: Logger; metrics: Metrics },
): EgressProxy {
  const guard = createEgressGuard(config.guard);
  const lookup = createGuardedLookup(guard, createResolve(config.dnsServers));
  const authorized = createCredentialCheck(config.credentials);
  const clients = new Set<Socket>();
  let tunnels = 0;
  const { count } = createEgressProxyMetrics(metrics, () => tunnels);
  let metricsServer: MetricsServer | undefined;
  let stopping: Promise<void> | undefined;

  const handle = async ({ url, headers }: IncomingMessage, client: Socket, head: Buffer) => {
    // A caller that leaves meanwhile is noticed at the first byte for it.
    client.on('error', () => {});
    if (!authorized(headers['proxy-authorization'])) {
      count('unauthorized');
      return deny(client, { status: 407, text: 'credentials are needed' });
    }
    const target = parseAuthority(url);
    if (!target) {
      count('malformed');
      return deny(client, { status: 400, error: 'http_request_error', text: 'CONNECT names host:port' });
    }
    try {
      const endpoint = await dial(target, { guard, lookup, timeoutMs: config.limits.connectMs, allowHalfOpen: true });
      count('connected');
      if (client.destroyed) return void endpoint.destroy();
      confirm(client, endpoint.remoteAddress ?? '');
      if (head.length > 0) endpoint.write(head);
      tunnels += 1;
      void joinSockets(client, endpoint, config.limits).then(() => {
        tunnels -= 1;
      });
    } catch (error) {
      const refused = error instanceof BlockedAddressError;
      const { addresses, message } = refused ? error : { addresses: [], message: '' };
      if (refused) log.warn({ host: target.hostname, port: target.port, addresses, reason: message }, 'refused');
      count(refused ? 'refused' : 'failed');
      deny(client, denialOf(error as Error));
    }
  };

  const server = createServer({
    maxHeaderSize: headLimitBytes,
    headersTimeout: config.limits.headMs,
    requestTimeout: config.limits.headMs,
    connectionsCheckingInterval: config.limits.headMs / 5,
  });
  server.maxConnections = config.connections;
  server.on('connect', (request, client, head) => void handle(request, client as Socket, head));
  server.on('request', (_, response) => {
    count('malformed');
    response.writeHead(405, { allow: 'CONNECT', connection: 'close' }).end('This proxy takes CONNECT only.\n');
  });
  server.on('connection', (client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
    count('malformed');
    const status = code === 'HPE_HEADER_OVERFLOW' ? 431 : code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
    deny(socket, { status, text: 'this is no CONNECT of HTTP/1.1' });
  });
  server.on('drop', () => count('over_limit'));

  const stop = async () => {
    if (server.listening) {
      // The last of its connections closes it: those without a request at once, tunnels in their time.
      const closed = once(server, 'close');
      server.close();
      const timer = setTimeout(() => {
        for (const client of clients) client.destroy();
      }, config.limits.drainMs);
      await closed;
      clearTimeout(timer);
    }
    await metricsServer?.stop();
  };

  const state = () => {
    if (stopping) return stoppingState;
    return server.listening ? { ready: true, takesCalls: true, failing: [] } : starting;
  };

  return {
    name: 'egress-proxy',
    get address() {
      const { address, port, family } = server.address() as AddressInfo;
      return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
    },
    async start() {
      if (config.metricsAddress) metricsServer = await serveMetrics(config.metricsAddress, [metrics], state);
      server.listen(config.port, config.host);
      await once(server, 'listening');
      log.info({ address: this.address }, 'serving');
      if (!config.credentials && !isLoopback(config.host)) {
        log.warn('whoever reaches this proxy may use it: EGRESS_PROXY_CREDENTIALS is not set');
      }
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
