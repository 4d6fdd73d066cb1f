import type { ServerResponse } from 'node:http';

/** Our own files and nothing else: no inline script, no inline style, nothing from elsewhere, no frames. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const headers = {
  'Content-Security-Policy': contentPolicy,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Paths name workspaces and what is in them.
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // What is not told otherwise is somebody's own.
  'Cache-Control': 'no-store',
} as const;

const twoYears = 'max-age=63072000';

/** What every answer of the dashboard says. */
export function setPageHeaders(response: ServerResponse, isHttps: boolean): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Said over http it would count for nothing (RFC 6797, 7.2).
  if (isHttps) response.setHeader('Strict-Transport-Security', twoYears);
}
