import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { errorOfStatus } from '../dial/index.ts';
import { BlockedAddressError } from '../egress/index.ts';

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
export function errorOfResponse(status: number, headers: IncomingHttpHeaders, authority: string): Error {
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
export function dialedByProxy(headers: IncomingHttpHeaders): string | undefined {
  const nextHop = /;\s*next-hop="?([0-9a-fA-F:.]+)/.exec(String(headers['proxy-status'] ?? ''))?.[1] ?? '';
  return isIP(nextHop) === 0 ? undefined : nextHop;
}
