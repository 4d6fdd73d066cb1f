import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/errors';
import { type CidrList, normalizeAddress } from '../checks/cidr-list.ts';

const hostForm = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Throws `invalid_request` if the Host header is missing or no host: links are made of it. */
export function checkHost({ headers, httpVersion }: IncomingMessage): void {
  const { host } = headers;
  if (host === undefined ? httpVersion === '1.0' : hostForm.test(host)) return;
  throw new RmsError('invalid_request', { details: [{ field: 'Host', message: 'must name a host' }] });
}

/** "https://api.example.com" as the client sees us; a trusted proxy may say that it was called by https. */
export function baseUrlOf({ headers, socket }: IncomingMessage, trustedProxies: CidrList): string {
  const peer = normalizeAddress(socket.remoteAddress ?? '');
  const trusted = peer !== undefined && trustedProxies.has(peer);
  const scheme = trusted && headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  return `${scheme}://${headers.host ?? `${socket.localAddress}:${socket.localPort}`}`;
}
