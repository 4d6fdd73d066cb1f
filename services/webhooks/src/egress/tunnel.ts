import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { hostOf, portOf, type Target } from './guard.ts';
import type { EgressProxy } from './proxy-choice.ts';
import { dialedByProxy, errorOfResponse, ProxyError } from './proxy-response.ts';

/** A connection to an endpoint through a proxy. */
export interface Tunnel {
  readonly socket: Socket;
  /** The endpoint's address; undefined if the proxy does not report it. */
  readonly address: string | undefined;
}

const headLimitBytes = 8 * 1024;

/**
 * Opens a tunnel with CONNECT (RFC 9110, 9.3.6). Rejects with an error whose message is shown in the delivery log.
 * @param options.ca certificate authorities that are trusted instead of Node's
 */
export function openTunnel(
  proxy: EgressProxy,
  target: Target,
  { timeoutMs, ca }: { timeoutMs: number; ca?: string | readonly string[] | undefined },
): Promise<Tunnel> {
  const host = hostOf(target.hostname);
  const port = portOf(target);
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { promise, resolve, reject } = Promise.withResolvers<Tunnel>();
  const { request } = proxy.protocol === 'https:' ? https : http;
  const connecting = request({
    host: proxy.host,
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(proxy.authorization ? { 'proxy-authorization': proxy.authorization } : {}) },
    agent: false,
    maxHeaderSize: headLimitBytes,
    // The default would be the Host header, which names the endpoint.
    servername: isIP(proxy.host) === 0 ? proxy.host : '',
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
  } as https.RequestOptions);
  const timer = setTimeout(() => connecting.destroy(new ProxyError('timed out')), timeoutMs);
  connecting.once('connect', ({ statusCode = 0, headers }: IncomingMessage, socket: Socket, head: Buffer) => {
    clearTimeout(timer);
    if (statusCode < 200 || statusCode > 299) {
      socket.on('error', () => {}).destroy();
      return reject(errorOfResponse(statusCode, headers, authority));
    }
    if (head.length > 0) socket.unshift(head);
    resolve({ socket: socket.setNoDelay(true), address: dialedByProxy(headers) });
  });
  connecting.on('error', (error: NodeJS.ErrnoException) => {
    clearTimeout(timer);
    reject(error instanceof ProxyError ? error : new ProxyError(error.code ?? error.message, { cause: error }));
  });
  connecting.end();
  return promise;
}
