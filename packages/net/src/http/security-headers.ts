import type { ServerResponse } from 'node:http';
import type { Client } from './client.ts';

/** Headers of every response, including responses to malformed requests (OWASP REST Security Cheat Sheet). */
export const securityHeaders: readonly (readonly [name: string, value: string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
];

const twoYears = 'max-age=63072000';

/** Sets {@link securityHeaders}, and Strict-Transport-Security if the client uses HTTPS. */
export function setSecurityHeaders(response: ServerResponse, { usesHttps }: Client): void {
  for (const [name, value] of securityHeaders) response.setHeader(name, value);
  // Browsers ignore this header over HTTP (RFC 6797, 7.2).
  if (usesHttps) response.setHeader('Strict-Transport-Security', twoYears);
}
