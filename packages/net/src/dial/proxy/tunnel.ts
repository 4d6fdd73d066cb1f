import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { dial } from '../dial.ts';
import { systemAddresses } from '../system-addresses.ts';
import type { HttpProxy } from './proxy-choice.ts';
import { hostOf, portOf, type Target } from './target.ts';

/** Thrown if a proxy is unreachable, or responds with an error of the proxy itself. */
class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code = 'PROXY';
}

/** A connection through a proxy. */
export interface Tunnel {
  readonly socket: Socket;
  /** Headers of the proxy's response. */
  readonly headers: IncomingHttpHeaders;
}

export interface TunnelOptions {
  /** For the connection to the proxy and its response together. */
  readonly timeoutMs: number;
  /** Certificate authorities of the proxy, instead of Node's. */
  readonly ca?: string | Buffer | readonly (string | Buffer)[] | undefined;
  /** Returns the error for a response that is not 2xx. Default: {@link errorOfStatus}. */
  readonly errorOf?: (status: number, headers: IncomingHttpHeaders, authority: string) => Error;
}

const headLimitBytes = 8 * 1024;

/**
 * Opens a tunnel with CONNECT (RFC 9110, 9.3.6). The messages of its errors contain no text of the proxy, and no
 * address of the operator's network.
 */
export async function openTunnel(
  proxy: HttpProxy,
  target: Target,
  { timeoutMs, ca, errorOf = errorOfStatus }: TunnelOptions,
): Promise<Tunnel> {
  const startedAtMs = performance.now();
  const toProxy = await connectTo(proxy, { timeoutMs, ca });
  const host = hostOf(target.hostname);
  const authority = `${host.includes(':') ? `[${host}]` : host}:${portOf(target)}`;
  const leftMs = Math.max(0, timeoutMs - (performance.now() - startedAtMs));
  return new Promise((resolve, reject) => {
    const connecting = request({
      createConnection: () => toProxy,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...(proxy.authorization ? { 'proxy-authorization': proxy.authorization } : {}) },
      maxHeaderSize: headLimitBytes,
    });
    const timer = setTimeout(() => connecting.destroy(new ProxyError('timed out')), leftMs);
    connecting.once('connect', ({ statusCode = 0, headers }: IncomingMessage, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (statusCode < 200 || statusCode > 299) {
        socket.on('error', () => {}).destroy();
        return reject(errorOf(statusCode, headers, authority));
      }
      if (head.length > 0) socket.unshift(head);
      resolve({ socket: socket.setNoDelay(true), headers });
    });
    connecting.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(proxyError(error));
    });
    connecting.end();
  });
}

/** Returns the error for a proxy that responds with an error status. */
export function errorOfStatus(status: number): ProxyError {
  return new ProxyError(status === 407 ? 'credentials rejected (407)' : `responded with ${status}`);
}

/** Connects to the proxy itself. An https proxy begins TLS; its errors arrive with the request. */
async function connectTo({ protocol, host, port }: HttpProxy, { timeoutMs, ca }: TunnelOptions): Promise<Socket> {
  const socket = await dial({ host, port, resolve: systemAddresses(undefined), timeoutMs }).catch((error: Error) => {
    throw error.message === 'timed out' ? new ProxyError('timed out', { cause: error }) : proxyError(error);
  });
  if (protocol === 'http:') return socket;
  return connectTls({
    socket,
    servername: isIP(host) === 0 ? host : '',
    host,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca: typeof ca === 'string' || Buffer.isBuffer(ca) ? ca : [...ca] } : {}),
  });
}

function proxyError(error: NodeJS.ErrnoException): ProxyError {
  if (error instanceof ProxyError) return error;
  return new ProxyError(error.code ?? error.message, { cause: error });
}
