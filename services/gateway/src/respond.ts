import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, errorKinds, RmsError, toRmsError } from '@rms/errors';
import type { Logger } from '@rms/service';
import type { Response } from 'express';
import { requestIdOf } from './checks/request-id.ts';
import type { Answer } from './endpoint.ts';

declare global {
  namespace Express {
    interface Locals {
      requestId: string;
      /** Set once the key is known. */
      keyId?: string;
    }
  }
}

/** How long to wait when the error does not say. */
const defaultRetryAfterSeconds = 1;

/** Sets what every response carries, before anything can go wrong. */
export function startResponse(request: IncomingMessage, response: Response): void {
  const requestId = requestIdOf(request);
  response.locals.requestId = requestId;
  response.setHeader('X-Request-ID', requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}

export function sendAnswer(response: ServerResponse, { status, json, headers }: Answer): void {
  for (const name in headers) response.setHeader(name, headers[name] as string);
  response.statusCode = status;
  if (json === undefined) {
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(json));
  response.end(json);
}

/** Answers an error in the documented shape. What is not ours to tell is logged and answered as `internal_error`. */
export function sendError(request: IncomingMessage, response: Response, thrown: unknown, log: Logger): void {
  const error = fromThrown(thrown);
  if (error.kind.httpStatus >= 500) {
    log.error({ err: thrown, request_id: response.locals.requestId, code: error.code }, 'request failed');
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (error.code.startsWith('invalid_api_key') || error.code === 'api_key_expired') {
    response.setHeader('WWW-Authenticate', 'Bearer');
  }
  if (error.kind.httpStatus === 429 || error.kind.httpStatus === 503) {
    response.setHeader('Retry-After', Math.max(1, Math.ceil(error.retryAfterSeconds ?? defaultRetryAfterSeconds)));
  }
  // A body that was not read to its end can't be followed by another request.
  if (!request.complete) response.setHeader('Connection', 'close');
  sendAnswer(response, { status: error.kind.httpStatus, json: renderError(error) });
}

/** `{"error": {code, message, status}}`, with `details` for what is wrong with a request. */
export function renderError({ code, message, details, kind }: RmsError): string {
  const error = { code, message, status: kind.httpStatus };
  return JSON.stringify({ error: code === 'invalid_request' ? { ...error, details } : error });
}

/** Express and Node raise errors of their own for paths that can't be decoded and the like. */
function fromThrown(thrown: unknown): RmsError {
  if (thrown instanceof RmsError) return thrown;
  const { status } = thrown as { status?: number };
  if (status !== undefined && status >= 400 && status < 500) {
    const code = (Object.keys(errorKinds) as ErrorCode[]).find((one) => errorKinds[one].httpStatus === status);
    return new RmsError(code ?? 'invalid_request', { cause: thrown });
  }
  return toRmsError(thrown);
}
