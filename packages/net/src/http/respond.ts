import type { ServerResponse } from 'node:http';
import { type ErrorCode, errorKinds, type FieldViolation, type RmsError } from '@rms/base/errors';
import { redactLine } from '@rms/runtime/logging';
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

/** Returns a signal that aborts if the client disconnects before the response is complete. */
export function abortOnClose(response: ServerResponse): AbortSignal {
  const abort = new AbortController();
  if (response.destroyed) abort.abort();
  response.once('close', () => {
    if (!response.writableFinished) abort.abort();
  });
  return abort.signal;
}

/** Media type of bodies. */
export const jsonType = 'application/json';

/** Response of an endpoint. */
export interface Response {
  readonly status: number;
  /** JSON text, or its UTF-8 bytes; undefined: no body. */
  readonly json?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const unavailableRetrySeconds = 1;

/** Sends a response. With a body, sets Content-Type and Content-Length. */
export function sendResponse(response: ServerResponse, { status, json, headers }: Response): void {
  response.statusCode = status;
  if (headers) for (const name in headers) response.setHeader(name, headers[name] as string);
  if (json === undefined) {
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  // Set explicitly because Node omits it for HEAD.
  response.setHeader('Content-Length', Buffer.byteLength(json));
  response.end(json);
}

/**
 * Returns the public message. An internal error always gets the general message. The general message of
 * `invalid_request` is extended with the first violation, for clients that show only the message.
 */
function messageOf(code: ErrorCode, given: string, [first, ...more]: readonly FieldViolation[]): string {
  const general = errorKinds[code].message;
  if (code === 'internal_error') return general;
  if (code !== 'invalid_request' || given !== general || first === undefined) return given;
  const others = more.length > 0 ? ` (and ${more.length} more in details)` : '';
  return `${general.slice(0, -1)}: \`${first.field}\` ${first.message}${others}.`;
}

/** Statuses with an error body of exactly code, message and status. */
const withoutDocUrl: ReadonlySet<number> = new Set([401, 403, 429]);

/**
 * Formats an error as a response: three fields, and details for `invalid_request`.
 * @param catalogUrl URL of the published error catalog. If given, an error with another
 *   status links to its code in the catalog.
 */
export function errorResponse(
  { code, message: given, kind, details, retryAfterSeconds }: RmsError,
  catalogUrl: string | undefined,
): Response {
  const { httpStatus: status } = kind;
  const message = messageOf(code, given, details);
  const error = {
    code,
    message,
    status,
    ...(code === 'invalid_request' ? { details } : {}),
    ...(catalogUrl === undefined || withoutDocUrl.has(status) ? {} : { doc_url: `${catalogUrl}#${code}` }),
  };
  const headers: Record<string, string> = {};
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  if (status === 429 || status === 503) {
    headers['Retry-After'] = String(Math.max(1, Math.ceil(retryAfterSeconds ?? unavailableRetrySeconds)));
  }
  return { status, json: JSON.stringify({ error }), headers };
}

/** Returns text of a request for an error message: without secrets, cut after `maxLength` characters. */
export function shownText(text: string, maxLength: number): string {
  const redacted = redactLine(text, { length: maxLength });
  return text.length > maxLength || redacted.length > maxLength ? `${redacted.slice(0, maxLength)}…` : redacted;
}
