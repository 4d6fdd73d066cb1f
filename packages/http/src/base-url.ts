import type { IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress } from '@rms/cidr';

/** Returns the origin under which the client reached this server: "https://api.example.com". */
export function baseUrlOf(request: IncomingMessage, trustedProxies: CidrList): string {
  const { headers, socket } = request;
  const scheme = usesHttps(request, trustedProxies) ? 'https' : 'http';
  const { localAddress = '', localPort } = socket;
  const own = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  return `${scheme}://${headers.host ?? own}`;
}

/** Returns whether a trusted proxy reports that the client used HTTPS. */
export function usesHttps({ headers, socket }: IncomingMessage, trustedProxies: CidrList): boolean {
  if (headers['x-forwarded-proto'] !== 'https') return false;
  const peer = normalizeAddress(socket.remoteAddress ?? '');
  return peer !== undefined && trustedProxies.has(peer);
}
