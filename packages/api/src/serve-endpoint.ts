import type { IncomingMessage } from 'node:http';
import { parseBody, parseQuery, type Response } from '@rms/net/http';
import { expectedVersionsOf, isUnchanged } from './conditions.ts';
import type { Admitted, Endpoint } from './endpoint.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';

export interface ServedRequest {
  readonly request: IncomingMessage;
  /** Reads the JSON body. */
  readonly readBody: () => Promise<unknown>;
  /** Returns the key for the RPC. `sent` is the Idempotency-Key of the request; empty if it has none. */
  readonly idempotencyKeyOf?: (sent: string, body: unknown) => string;
}

/**
 * Serves an admitted request: validates Idempotency-Key, conditions, query and body, in this order, and calls the
 * handler. Throws the error of the first failing check.
 */
export async function serveEndpoint(
  endpoint: Endpoint,
  admitted: Admitted,
  { request, readBody, idempotencyKeyOf: keyOf = (sent) => sent }: ServedRequest,
): Promise<Response> {
  const sentKey = endpoint.idempotent ? idempotencyKeyOf(request) : '';
  const isGet = endpoint.method === 'get';
  const expectedVersions = endpoint.conditional && !isGet ? expectedVersionsOf(request) : [];
  const query = parseQuery(endpoint.query, request.url ?? '');
  const body =
    endpoint.body && parseBody(endpoint.body, endpoint.optionalBody && isEmpty(request) ? {} : await readBody());
  const idempotencyKey = sentKey && keyOf(sentKey, body);
  const response = await endpoint.handle({ ...admitted, query, body, idempotencyKey, expectedVersions });
  const unchanged = isGet && endpoint.conditional && isUnchanged(request, response);
  return unchanged ? { status: 304, headers: response.headers ?? {} } : response;
}

/** Returns whether a request has no body. */
function isEmpty({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding === undefined && Number(length ?? 0) === 0;
}
