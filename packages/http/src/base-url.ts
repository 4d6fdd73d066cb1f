import type { IncomingMessage } from 'node:http';
import { type CidrList, normalizeAddress } from './cidr-list.ts';

/** "https://api.example.com" as the client sees us. */
export function baseUrlOf(request: IncomingMessage, trustedProxies: CidrList): string {
  const { headers, socket } = request;
  const scheme = cameByHttps(request, trustedProxies) ? 'https' : 'http';
  return `${scheme}://${headers.host ?? `${socket.localAddress}:${socket.localPort}`}`;
}

/** Whether a trusted proxy says that it was called by https. */
export function cameByHttps({ headers, socket }: IncomingMessage, trustedProxies: CidrList): boolean {
  if (headers['x-forwarded-proto'] !== 'https') return false;
  const peer = normalizeAddress(socket.remoteAddress ?? '');
  return peer !== undefined && trustedProxies.has(peer);
}
