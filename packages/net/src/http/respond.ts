import type { ServerResponse } from 'node:http';
import { type ErrorCode, errorKinds, type FieldViolation, type RmsError } from '@rms/base/errors';

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
