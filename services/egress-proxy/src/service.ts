import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { BlockedAddressError, createEgressGuard, createResolve, dialTarget } from '@rms/net/egress';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import {
  type MetricsServer,
  type Service,
  serveMetrics,
  starting,
  stopping as stoppingState,
} from '@rms/runtime/service';
import { parseAuthority } from './authority.ts';
import type { EgressProxyConfig } from './config.ts';
import { createCredentialCheck } from './credentials.ts';
import { createEgressProxyMetrics } from './metrics.ts';
import { confirm, denialOf, deny } from './response.ts';
import { joinSockets } from './tunnel.ts';

export interface EgressProxy extends Service {
  /** For example "127.0.0.1:4750"; known after the start. */
  readonly address: string;
}

const headLimitBytes = 8 * 1024;

/**
 * Creates a forward proxy that accepts only CONNECT and applies the webhook egress rules to every address that it
 * dials. It is meant for networks where only this proxy may open outbound connections. The tunneled traffic is TLS
 * with the endpoint, which the proxy cannot read.
 */
export function createEgressProxy(
  config: EgressProxyConfig,
  { log, metrics }: { log: Logger; metrics: Metrics },
): EgressProxy {
  const guard = createEgressGuard(config.guard);
  const resolve = createResolve(config.dnsServers);
  const { credentials } = config;
  const authorized = createCredentialCheck(credentials && (() => credentials(log)));
  const clients = new Set<Socket>();
  let tunnels = 0;
  const { count } = createEgressProxyMetrics(metrics, () => tunnels);
  let metricsServer: MetricsServer | undefined;
  let stopping: Promise<void> | undefined;

  const handle = async ({ url, headers }: IncomingMessage, client: Socket, head: Buffer) => {
    // If the caller disconnects before that, the first write to its socket fails.
    client.on('error', () => {});
    if (!authorized(headers['proxy-authorization'])) {
      count('unauthorized');
      return deny(client, { status: 407, text: 'credentials are required' });
    }
    const target = parseAuthority(url);
    if (!target) {
      count('malformed');
      return deny(client, { status: 400, error: 'http_request_error', text: 'CONNECT requires a host:port target' });
    }
    try {
      const endpoint = await dialTarget(target, {
        guard,
        resolve,
        timeoutMs: config.limits.connectMs,
        allowHalfOpen: true,
      });
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
      if (refused)
        log.warn({ host: target.hostname, port: target.port, addresses, reason: message }, 'destination rejected');
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
    response.writeHead(405, { allow: 'CONNECT', connection: 'close' }).end('This proxy accepts only CONNECT.\n');
  });
  server.on('connection', (client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
  });
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
    count('malformed');
    const status = code === 'HPE_HEADER_OVERFLOW' ? 431 : code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
    deny(socket, { status, text: 'not an HTTP/1.1 CONNECT request' });
  });
  server.on('drop', () => count('over_limit'));

  const stop = async () => {
    if (server.listening) {
      // The server closes with its last connection. Connections without a request close immediately, tunnels within
      // drainMs.
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
        log.warn('EGRESS_PROXY_CREDENTIALS is not set: every client that can reach this proxy may use it');
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
