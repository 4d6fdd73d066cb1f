import type { IncomingMessage } from 'node:http';
import type { Client } from './client.ts';

/**
 * Returns the origin under which the client reached this server: "https://api.example.com". Requires the checks of
 * `checkHead`.
 */
export function baseUrlOf({ headers, socket }: IncomingMessage, { usesHttps }: Client): string {
  const { localAddress = '', localPort } = socket;
  const own = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  return new URL(`${usesHttps ? 'https' : 'http'}://${headers.host ?? own}`).origin;
}
