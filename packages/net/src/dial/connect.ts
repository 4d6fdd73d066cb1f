import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import { dial } from './dial.ts';
import { explainCertificate } from './explain-certificate.ts';
import type { HttpProxy } from './proxy/proxy-choice.ts';
import { openTunnel } from './proxy/tunnel.ts';
import { systemAddresses } from './system-addresses.ts';

export interface ConnectOptions {
  /** A name that the system's name service resolves, or an IP address, with or without brackets. */
  readonly host: string;
  readonly port: number;
  /** The only kind of addresses to dial; default: both. */
  readonly family?: 4 | 6 | undefined;
  /** For resolving, connecting and the TLS handshake together. */
  readonly timeoutMs: number;
  /** The proxy to connect through; it resolves the name. Default: the server is dialed directly. */
  readonly proxy?: HttpProxy | undefined;
  /** Secures the connection and verifies the server's name; default: without TLS. */
  readonly tls?: TlsOptions | undefined;
  /** Setting with the server's CA, for the error about a certificate that cannot be verified. */
  readonly caSetting?: string;
  /** Ends the attempts. The promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a connection to a server that the operator has configured: a store, another service, an SMTP server or an
 * identity provider. All addresses of the name race, in the system's order (RFC 8305), and no attempt ends before
 * `timeoutMs`: an address that does not respond delays the connection by 250 ms, and a server may take as long as the
 * limit permits.
 */
export async function connect({
  host,
  port,
  family,
  timeoutMs,
  proxy,
  tls,
  caSetting,
  signal,
}: ConnectOptions): Promise<Socket> {
  const startedAtMs = performance.now();
  const name = host.replace(/^\[|\]$/g, '');
  const plain = proxy
    ? (await openTunnel(proxy, { hostname: name, port: `${port}` }, { timeoutMs, ca: tls?.ca })).socket
    : await dial({ host: name, port, resolve: systemAddresses(family), timeoutMs, signal }).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.message !== 'timed out') throw error;
          throw timeout(error.code === 'DNS_FAILED' ? `the lookup of ${host}` : `the connection to ${host}:${port}`);
        },
      );
  if (!tls) return plain;
  const leftMs = Math.max(0, timeoutMs - (performance.now() - startedAtMs));
  return secure(plain, { ...tls, host: name, servername: serverName(name) }, { timeoutMs: leftMs, signal }).catch(
    (error: Error) => {
      if (error.message === 'timed out') throw timeout(`the TLS handshake with ${host}:${port}`);
      throw caSetting ? explainCertificate(error, caSetting) : error;
    },
  );

  function timeout(what: string): Error {
    return Object.assign(new Error(`${what} timed out after ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
  }
}

/** Returns the name for SNI, which is never an IP address (RFC 6066, section 3). */
export function serverName(host: string): string {
  return isIP(host) === 0 ? host : '';
}

function secure(
  plain: Socket,
  options: TlsOptions,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...options, socket: plain });
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const fail = (error: Error) => {
      end();
      socket.destroy();
      reject(error);
    };
    const abort = () => fail(signal?.reason);
    const timer = setTimeout(() => fail(new Error('timed out')), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    // A TLS socket can emit two errors: this side rejects the certificate, and then reads the server's alert.
    socket.on('error', fail);
    socket.once('close', () => fail(new Error('the server closed the connection during the TLS handshake')));
    socket.once('secureConnect', () => {
      end();
      resolve(socket);
    });
  });
}
