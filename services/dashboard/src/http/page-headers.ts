import type { ServerResponse } from 'node:http';

/** Content Security Policy: only own files, no inline scripts or styles. */
const directives = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
];

function contentPolicy(frameAncestors: readonly string[]): string {
  return [...directives, `frame-ancestors ${frameAncestors.join(' ') || "'none'"}`].join('; ');
}

const headers = {
  'Content-Security-Policy': contentPolicy([]),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Paths contain workspace IDs and other identifiers.
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // Default: responses may contain personal data.
  'Cache-Control': 'no-store',
} as const;

const twoYears = 'max-age=63072000';

/** Sets the headers of every response. */
export function setPageHeaders(response: ServerResponse, isHttps: boolean): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Over HTTP, browsers ignore both headers; Chromium reports the second as an error of every page.
  if (!isHttps) return;
  response.setHeader('Strict-Transport-Security', twoYears);
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
}

/**
 * Lets pages of these origins frame the response, also pages that isolate themselves (Cross-Origin-Embedder-Policy).
 * Without origins, no page may.
 */
export function allowFrames(response: ServerResponse, origins: readonly string[]): void {
  if (origins.length === 0) return;
  response.setHeader('Content-Security-Policy', contentPolicy(origins));
  // Knows no list of origins; browsers with frame-ancestors ignore it.
  response.removeHeader('X-Frame-Options');
  response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
}
