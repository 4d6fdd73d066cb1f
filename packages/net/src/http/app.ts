import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { inSpans, type Span } from '@rms/async/tracing';
import type { CidrList } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import type { Logger } from '@rms/runtime/logging';
import express, { type Express, type Request, type Response } from 'express';
import { type Client, clientOf, createProxyWarning } from './client.ts';
import { jsonType, shownText } from './respond.ts';

/** State of a request that every app keeps, in `response.locals`. */
export type RequestLocals = {
  readonly requestId: string;
  /** Start of the request, performance.now(). */
  readonly startedAtMs: number;
  /** Span of the request if it is traced. */
  span?: Span | undefined;
  /** Returns the client, determined on first use. */
  client(): Client;
};

export type AppResponse<Locals extends RequestLocals> = Response<unknown, Locals>;

export interface HttpAppParts<Locals extends RequestLocals> {
  readonly trustedProxies: CidrList;
  /** `draining`: responses close their connection, because the service stops. */
  readonly probes: { readonly draining: boolean };
  readonly log: Logger;
  /** Returns the app's own state of a new request. */
  newLocals(): Omit<Locals, keyof RequestLocals>;
  /** Registers the routes. */
  mount(app: Express): void;
  /** Sets headers of the response, and observes it. Also runs for requests that fail before routing. */
  begin(request: Request, response: AppResponse<Locals>): void;
  /** Responds to a request that has failed. */
  fail(thrown: unknown, request: Request, response: AppResponse<Locals>): void;
}

/**
 * Creates the listener of an API or of pages, on Express. Every request gets an ID and its client, and its target and
 * head are checked before routing. A request without a route fails with `not_found`.
 */
export function createHttpApp<Locals extends RequestLocals>(parts: HttpAppParts<Locals>): RequestListener {
  const { trustedProxies, probes, log } = parts;
  const warnOfProxy = createProxyWarning(trustedProxies, log);
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.enable('case sensitive routing').enable('strict routing');
  parts.mount(app);

  /** Wraps Express, because these steps apply to every response, including errors before routing. */
  return (incoming, outgoing) => {
    const request = incoming as Request;
    const response = outgoing as AppResponse<Locals>;
    normalizeTarget(request);
    const common: RequestLocals = {
      requestId: requestIdOf(request),
      startedAtMs: performance.now(),
      client: () => clientOf(request, trustedProxies),
    };
    response.locals = Object.assign(parts.newLocals(), common) as unknown as typeof response.locals;
    response.setHeader('X-Request-ID', common.requestId);
    if (probes.draining) response.setHeader('Connection', 'close');
    warnOfProxy(common.client());
    parts.begin(request, response);
    const fail = (thrown: unknown) => parts.fail(thrown, request, response);
    try {
      checkHead(request);
      const serve = () => app(request, response, (thrown?: unknown) => fail(thrown ?? routeNotFound(request)));
      const { span } = response.locals;
      if (span) inSpans([span], serve);
      else serve();
    } catch (error) {
      fail(error);
    }
  };
}

/** A method of a path: "/v1/things/{id}". */
interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: string;
}

/**
 * Registers endpoints. Other methods of their paths fail with `method_not_allowed`, and other paths below `prefix`,
 * including paths that cannot be decoded, with `not_found`.
 * @param admit runs before such a refusal, and throws if the caller must not learn whether the path exists
 */
export function mountEndpoints<Endpoint, Locals extends RequestLocals>(
  app: Express,
  routes: readonly (Route & { readonly endpoint: Endpoint })[],
  {
    prefix,
    serve,
    admit = async () => {},
  }: {
    readonly prefix: `/${string}`;
    serve(endpoint: Endpoint, request: Request, response: AppResponse<Locals>): Promise<void>;
    admit?(request: Request, response: AppResponse<Locals>): Promise<unknown>;
  },
): void {
  type Answer = AppResponse<Locals>;
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = routes.filter((route) => route.path === path);
    const route = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const { method, endpoint } of here) {
      route[method]((request: Request, response: Answer) => serve(endpoint, request, response));
    }
    const methods = here.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    route.all(async (request: Request, response: Answer) => {
      await admit(request, response);
      throw methodNotAllowed(request, response, methods);
    });
  }
  app.all(`${prefix}{/*rest}`, async (request: Request, response: Answer) => {
    await admit(request, response);
    throw routeNotFound(request);
  });
  // Express passes requests with an undecodable path to the error handler.
  app.use(prefix, async (error: unknown, request: Request, response: Answer, _next: unknown) => {
    if (!(error instanceof URIError)) throw error;
    await admit(request, response);
    throw routeNotFound(request);
  });
}

/** Registers a GET route, outside the endpoints' prefix. */
export function mountOpen<Locals extends RequestLocals>(
  app: Express,
  path: string,
  handle: (response: AppResponse<Locals>) => void | Promise<void>,
): void {
  const route = app.route(path);
  route.get((_request: Request, response: AppResponse<Locals>) => handle(response));
  route.all((request: Request, response: AppResponse<Locals>) => {
    throw methodNotAllowed(request, response, ['GET', 'HEAD']);
  });
}

/** An Express request. Routers of Express shorten `url` but not `originalUrl`. */
interface RoutedRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
}

const maxShownLength = 200;

/** Returns `not_found` for a request that no route matches. The message names method and path. */
export function routeNotFound(request: RoutedRequest): RmsError {
  return new RmsError('not_found', {
    message: `Not found: no route matches \`${request.method} ${pathOf(request)}\`.`,
  });
}

/**
 * Returns `method_not_allowed` and sets `Allow`, and `Accept-Patch` if PATCH is allowed (RFC 5789, 3.1). The message
 * names path, method and the allowed methods.
 */
function methodNotAllowed(request: RoutedRequest, response: ServerResponse, allowed: readonly string[]): RmsError {
  const methods = allowed.join(', ');
  response.setHeader('Allow', methods);
  if (allowed.includes('PATCH')) response.setHeader('Accept-Patch', jsonType);
  const message = `\`${pathOf(request)}\` does not support ${request.method}. It supports ${methods}.`;
  return new RmsError('method_not_allowed', { message });
}

/** Returns the path as sent, without the query and secrets. Shortens a long path. */
function pathOf({ originalUrl, url = '/' }: RoutedRequest): string {
  const [sent = '/'] = (originalUrl ?? url).split('?', 1);
  return shownText(sent, maxShownLength);
}

/**
 * Converts a time of performance.now() to milliseconds since 1970, by the present clock of the machine.
 * performance.timeOrigin is the process's start by the clock at that time, which may have been set since.
 */
export function wallTimeOf(atMs: number): number {
  return Date.now() - (performance.now() - atMs);
}

const absoluteForm = /^https?:\/\/([^/?#]*)([^#]*)/i;

/**
 * Rewrites an absolute-form request target ("GET http://host/v1/resources") to its path and query, and Host to the host
 * of the target (RFC 9112, 3.2.2), so that routing, logs and traces see one form. Keeps a Host that is missing or
 * invalid, because such a request is badHead in any form. Call it before anything reads `request.url`.
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '/', headers, httpVersion } = request;
  if (url.startsWith('/')) return;
  const parts = absoluteForm.exec(url);
  if (!parts) return;
  const [, host = '', rest = ''] = parts;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  if (headers.host === undefined ? httpVersion === '1.0' : isHost(headers.host)) headers.host = host;
}

const acceptableId = /^[A-Za-z0-9._+/=-]{8,128}$/;

/** Returns the client's X-Request-ID if it is acceptable, otherwise a new ID. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && acceptableId.test(sent) ? sent : newId('req');
}

const longestUrlKib = 8;
const maxHeaders = 100;
/** Headers that must not be repeated: a proxy and this server could use different occurrences. */
const single = new Set(['host', 'authorization', 'content-type', 'content-encoding', 'idempotency-key']);
const lengthsOfSingle = new Set([...single].map((name) => name.length));

/**
 * Checks the request target and headers before routing, after `normalizeTarget`. Throws `uri_too_long`,
 * `headers_too_large`, `expectation_failed` or `invalid_request`.
 */
export function checkHead(request: IncomingMessage): void {
  const { url = '/', rawHeaders, headers, httpVersion } = request;
  if (url.length > longestUrlKib * 1024) {
    throw new RmsError('uri_too_long', { message: `The request URL has more than ${longestUrlKib} KiB.` });
  }
  if (rawHeaders.length > 2 * maxHeaders) {
    throw new RmsError('headers_too_large', { message: `The request has more than ${maxHeaders} headers.` });
  }
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) throw badHead(repeated, 'is repeated');
  if (!url.startsWith('/') && url !== '*') throw badHead('request target', 'must be a path or an http or https URL');
  const { host, 'transfer-encoding': coding = 'chunked' } = headers;
  // Node's parser accepts other codings before chunked, and does not decode them.
  if (coding.toLowerCase() !== 'chunked') throw badHead('Transfer-Encoding', 'must be chunked');
  // Links in responses are built from this header.
  if (host === undefined ? httpVersion !== '1.0' : !isHost(host)) throw badHead('Host', 'must be a valid host');
  expectsContinue(request);
}

/**
 * Returns the first repeated header. Uses `rawHeaders` (alternating names and values), because `headers` keeps only the
 * first value.
 */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen: string[] | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] as string;
    if (!lengthsOfSingle.has(sent.length)) continue;
    const name = sent.toLowerCase();
    if (!single.has(name)) continue;
    if (seen?.includes(name)) return sent;
    seen ??= [];
    seen.push(name);
  }
  return undefined;
}

function badHead(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}

/**
 * Returns whether the client waits for "100 Continue" before it sends the body (RFC 9110, 10.1.1). An HTTP/1.0 client
 * cannot read that response, so its Expect header is ignored. Throws `expectation_failed` for other expectations.
 */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0') return false;
  const members = expect.split(',').map((member) => member.trim().toLowerCase());
  const given = members.filter((member) => member !== '');
  if (given.some((member) => member !== '100-continue')) throw new RmsError('expectation_failed');
  return given.length > 0;
}

const hostForm = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i;

/**
 * Returns whether a text is a host with an optional port, which can be empty (RFC 9110, 7.2). Rejects hosts and ports
 * that a URL cannot contain, such as 1.2.3.999 or 99999: links in responses would be invalid.
 */
function isHost(text: string): boolean {
  return hostForm.test(text) && URL.canParse(`http://${text}`);
}
