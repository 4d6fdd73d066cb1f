import type { ServerResponse } from 'node:http';
import type { RmsError } from '@rms/errors';

/** What an endpoint answers. */
export interface Answer {
  readonly status: number;
  /** JSON text, or its bytes in UTF-8; undefined: no body. */
  readonly json?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const unavailableRetrySeconds = 1;

export function sendAnswer(response: ServerResponse, { status, json, headers }: Answer): void {
  response.statusCode = status;
  if (headers) for (const name in headers) response.setHeader(name, headers[name] as string);
  if (json === undefined) {
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  // Said by hand, for Node would leave it out for HEAD.
  response.setHeader('Content-Length', Buffer.byteLength(json));
  response.end(json);
}

/** An error in its public form (specification, "Errors"): three fields; `invalid_request` has details as well. */
export function errorAnswer({ code, message: given, kind, details, retryAfterSeconds }: RmsError): Answer {
  const { httpStatus: status } = kind;
  // What went wrong inside is nobody's business, whoever wrote a text of its own for it.
  const message = code === 'internal_error' ? kind.message : given;
  const error = { code, message, status, ...(code === 'invalid_request' ? { details } : {}) };
  const headers: Record<string, string> = {};
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  if (status === 429 || status === 503) {
    headers['Retry-After'] = String(Math.max(1, Math.ceil(retryAfterSeconds ?? unavailableRetrySeconds)));
  }
  return { status, json: JSON.stringify({ error }), headers };
}
