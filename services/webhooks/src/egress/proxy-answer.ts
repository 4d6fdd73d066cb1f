import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { BlockedAddressError } from './guard.ts';

/** The egress proxy is away, or says no for a reason of its own. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code = 'PROXY';
}

/** Proxy-Status (RFC 9209): what its errors are without a proxy in between. */
const sameErrors: Readonly<Record<string, string>> = {
  dns_error: 'ENOTFOUND',
  dns_timeout: 'DNS_FAILED',
  connection_refused: 'ECONNREFUSED',
  connection_timeout: 'UND_ERR_CONNECT_TIMEOUT',
  destination_ip_unroutable: 'EHOSTUNREACH',
};

/**
 * Why a proxy did not connect. What it writes for people is left out: it may name addresses of the operator's network,
 * and customers read the log of attempts.
 * @param authority host:port that it was asked for
 */
export function errorOfAnswer(status: number, headers: IncomingHttpHeaders, authority: string): Error {
  const error = /;\s*error="?([a-z_]+)/.exec(String(headers['proxy-status'] ?? ''))?.[1] ?? '';
  // Smokescreen answers 407 for what it refuses.
  const refused = status === 403 || (status === 407 && headers['x-smokescreen-error'] !== undefined);
  if (refused || error === 'destination_ip_prohibited' || error === 'http_request_denied') {
    return new BlockedAddressError(`the egress proxy refused ${authority}`);
  }
  const code = sameErrors[error];
  if (code) return Object.assign(new Error('the egress proxy got no answer'), { code });
  if (status === 407) return new ProxyError('it asks for other credentials (407)');
  return new ProxyError(`it answered ${status}`);
}

/** The address that a proxy says it has dialled; undefined: it does not say. */
export function dialledByProxy(headers: IncomingHttpHeaders): string | undefined {
  const nextHop = /;\s*next-hop="?([0-9a-fA-F:.]+)/.exec(String(headers['proxy-status'] ?? ''))?.[1] ?? '';
  return isIP(nextHop) === 0 ? undefined : nextHop;
}
