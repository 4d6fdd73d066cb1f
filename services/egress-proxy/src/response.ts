import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** The name of this proxy in the Proxy-Status header. */
const proxyName = 'rms-egress';

/** An error response to CONNECT. */
export interface Denial {
  readonly status: number;
  /** An error type of RFC 9209; undefined if none applies. */
  readonly error?: string;
  /** A message for humans. */
  readonly text: string;
}

const lifeMs = 5_000;

/** Maps an error of dialing the endpoint to the response for the caller. */
export function denialOf({ code = '', message }: { code?: string; message: string }): Denial {
  if (code === 'BLOCKED_ADDRESS') return { status: 403, error: 'destination_ip_prohibited', text: message };
  if (code === 'ENOTFOUND') return { status: 502, error: 'dns_error', text: 'the name does not resolve' };
  if (code === 'DNS_FAILED') return { status: 504, error: 'dns_timeout', text: message };
  if (code === 'ECONNREFUSED') return { status: 502, error: 'connection_refused', text: code };
  if (code === 'ETIMEDOUT') return { status: 504, error: 'connection_timeout', text: code };
  if (/^E(?:HOST|NET)UNREACH$/.test(code)) return { status: 502, error: 'destination_ip_unroutable', text: code };
  return { status: 502, error: 'connection_terminated', text: code || message };
}

/** Responds and closes the connection. A caller that does not read the response is disconnected. */
export function deny(client: Duplex, { status, error, text }: Denial): void {
  const body = `${text}\n`;
  client.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      ...(error ? [`Proxy-Status: ${proxyName}; error=${error}`] : []),
      ...(status === 407 ? [`Proxy-Authenticate: Basic realm="${proxyName}"`] : []),
      'Content-Type: text/plain; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  const timer = setTimeout(() => client.destroy(), lifeMs);
  client.once('close', () => clearTimeout(timer)).resume();
}

/** @param address the dialed address */
export function confirm(client: Duplex, address: string): void {
  client.write(`HTTP/1.1 200 Connection Established\r\nProxy-Status: ${proxyName}; next-hop="${address}"\r\n\r\n`);
}
