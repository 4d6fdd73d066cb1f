import { type IncomingMessage, request } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { connect } from '@rms/dial';
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
export async function openTunnel(
  proxy: EgressProxy,
  target: Target,
  { timeoutMs, ca }: { timeoutMs: number; ca?: string | readonly string[] | undefined },
): Promise<Tunnel> {
  const startedAtMs = performance.now();
  const toProxy = await connectTo(proxy, { timeoutMs, ca });
  const { promise, resolve, reject } = Promise.withResolvers<Tunnel>();
  const host = hostOf(target.hostname);
  const authority = `${host.includes(':') ? `[${host}]` : host}:${portOf(target)}`;
  const connecting = request({
    createConnection: () => toProxy,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(proxy.authorization ? { 'proxy-authorization': proxy.authorization } : {}) },
    maxHeaderSize: headLimitBytes,
  });
  const leftMs = Math.max(0, timeoutMs - (performance.now() - startedAtMs));
  const timer = setTimeout(() => connecting.destroy(new ProxyError('timed out')), leftMs);
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
    reject(proxyError(error));
  });
  connecting.end();
  return promise;
}

/** Connects to the proxy itself. An https proxy begins TLS, whose errors arrive with the request. */
async function connectTo(
  { protocol, host, port }: EgressProxy,
  { timeoutMs, ca }: { timeoutMs: number; ca?: string | readonly string[] | undefined },
): Promise<Socket> {
  const socket = await connect({ host, port: Number(port), timeoutMs }).catch((error: Error) => {
    throw proxyError(error);
  });
  if (protocol === 'http:') return socket;
  return connectTls({
    socket,
    servername: isIP(host) === 0 ? host : '',
    host,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca: typeof ca === 'string' ? ca : [...ca] } : {}),
  });
}

function proxyError(error: NodeJS.ErrnoException): ProxyError {
  if (error instanceof ProxyError) return error;
  if (error.code === 'ETIMEDOUT') return new ProxyError('timed out', { cause: error });
  return new ProxyError(error.code ?? error.message, { cause: error });
}
