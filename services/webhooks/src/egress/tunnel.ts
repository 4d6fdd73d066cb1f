import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { hostOf, portOf, type Target } from './guard.ts';
import { dialledByProxy, errorOfAnswer, ProxyError } from './proxy-answer.ts';
import type { EgressProxy } from './proxy-choice.ts';

/** A connection to an endpoint that a proxy has made. */
export interface Tunnel {
  readonly socket: Socket;
  /** Of the endpoint; undefined: the proxy does not tell. */
  readonly address: string | undefined;
}

const headLimitBytes = 8 * 1024;

/**
 * Asks a proxy to connect (CONNECT, RFC 9110 9.3.6). Rejects with what the delivery log shows.
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
  const { promise, resolve, reject } = withResolvers<Tunnel>();
  const { request } = proxy.protocol === 'https:' ? https : http;
  const asking = request({
    host: proxy.host,
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(proxy.authorization ? { 'proxy-authorization': proxy.authorization } : {}) },
    agent: false,
    maxHeaderSize: headLimitBytes,
    // Not that of the Host header, which is the endpoint.
    servername: isIP(proxy.host) === 0 ? proxy.host : '',
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
  } as https.RequestOptions);
  const timer = setTimeout(() => asking.destroy(new ProxyError('timed out')), timeoutMs);
  asking.once('connect', ({ statusCode = 0, headers }: IncomingMessage, socket: Socket, head: Buffer) => {
    clearTimeout(timer);
    if (statusCode < 200 || statusCode > 299) {
      socket.on('error', () => {}).destroy();
      return reject(errorOfAnswer(statusCode, headers, authority));
    }
    if (head.length > 0) socket.unshift(head);
    resolve({ socket: socket.setNoDelay(true), address: dialledByProxy(headers) });
  });
  asking.on('error', (error: NodeJS.ErrnoException) => {
    clearTimeout(timer);
    reject(error instanceof ProxyError ? error : new ProxyError(error.code ?? error.message, { cause: error }));
  });
  asking.end();
  return promise;
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((res, rej) => {
    [resolve, reject] = [res, rej];
  });
  return { promise, resolve, reject };
}
