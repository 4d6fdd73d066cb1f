import type { Dispatcher } from 'undici';
import { BlockedAddressError } from '../egress/index.ts';
import {
  ConnectError,
  type ConnectTimes,
  headLimitBytes,
  notConnected,
  rounded,
  type Watch,
  watchRequest,
} from './connection-times.ts';
import type { OriginPools } from './origin-pools.ts';
import { type HeaderPair, headerPairs, parsePartial, singleValue } from './response-head.ts';

/** A POST request. */
export interface PostRequest {
  /** Workspace whose connections carry the request. */
  readonly workspaceId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Time for the whole response. */
  readonly timeoutMs: number;
}

/** Everything that is known of a finished request. */
export interface PostResult {
  /** The response status, even if the response is incomplete; 0 if no status arrived. */
  readonly statusCode: number;
  /** Error class and text, "dns: the name does not resolve (3 ms)"; undefined if the response is complete. */
  readonly error: string | undefined;
  readonly durationMs: number;
  readonly timings: ExchangeTimes;
  /** The dialed address; undefined if none was dialed, or if an egress proxy did not report it. */
  readonly address: string | undefined;
  readonly responseHeaders: readonly HeaderPair[];
  /** The first 16 KiB. */
  readonly responseBody: Buffer;
}

/** Time spent in each step, in milliseconds. The connect steps are 0 if the connection was already open. */
export interface ExchangeTimes extends ConnectTimes {
  /** From sending the request to the first byte of the response; undefined if there was no response. */
  readonly firstByte: number | undefined;
}

/**
 * Thrown instead of a result: this process or its machine has no file descriptor, buffer or memory for another
 * connection, which is not a fault of the endpoint. Nothing was sent.
 */
export class NoConnectionError extends Error {
  override readonly name = 'NoConnectionError';
}

const ownFaults = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'];

/** The reason for ending a request that took too long. */
class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/**
 * Sends a POST request. The whole response, including the body, must arrive within the timeout. Every error is in the
 * result, next to everything that arrived of the response; rejects only with a {@link NoConnectionError}. Redirects are
 * not followed.
 *
 * An endpoint may close an idle connection just as a request is sent over it. Such a request gets no byte of a
 * response, or a 408 that closes the connection, and is repeated once over a new connection.
 */
export async function post(
  agent: OriginPools,
  { workspaceId, url, headers, body, timeoutMs }: PostRequest,
): Promise<PostResult> {
  const startedAtMs = performance.now();
  let exchange = new Exchange();
  const timer = setTimeout(() => exchange.abort(new DeadlineError()), timeoutMs);
  let watch: Watch | undefined;
  try {
    const request = { ...requestTarget(url), method: 'POST', body, headers } as const;
    watch = watchRequest(() => agent.dispatch(workspaceId, request, exchange));
    await exchange.ended;
    if (isUnread(exchange, watch)) {
      exchange = new Exchange();
      watch = watchRequest(() => agent.dispatchAlone(request, exchange));
      await exchange.ended;
    }
  } catch (error) {
    exchange.abort(error as Error);
  } finally {
    clearTimeout(timer);
  }
  const { error, firstByteAtMs } = exchange;
  if (error instanceof ConnectError && ownFaults.includes(error.code)) {
    throw new NoConnectionError(error.message, { cause: error });
  }
  const sentAtMs = watch?.sentAtMs ?? startedAtMs;
  return {
    ...responseOf(exchange, watch),
    error: error && describe(error, timeoutMs, watch?.brokenBy(), performance.now() - sentAtMs),
    durationMs: Math.round(performance.now() - startedAtMs),
    timings: {
      ...(error instanceof ConnectError ? error.times : (watch?.times ?? notConnected)),
      firstByte: firstByteAtMs === undefined ? undefined : rounded(firstByteAtMs - sentAtMs),
    },
    address: watch?.address,
  };
}

/** Returns everything that arrived of the response. */
function responseOf(exchange: Exchange, watch: Watch | undefined) {
  const received = watch?.takeReceived() ?? [];
  if (exchange.statusCode !== 0 || received.length === 0) {
    const { statusCode, rawHeaders, body } = exchange;
    return { statusCode, responseHeaders: headerPairs(rawHeaders), responseBody: body };
  }
  const { statusCode, headers, rest } = parsePartial(Buffer.concat(received).subarray(0, headLimitBytes));
  return { statusCode, responseHeaders: headers, responseBody: rest };
}

/**
 * Whether the endpoint closed a connection that was open before, instead of reading the request: without a byte of a
 * response, or with a 408 and `Connection: close`, as some servers end an idle connection (RFC 9110, 15.5.9).
 */
function isUnread({ error, statusCode, rawHeaders }: Exchange, watch: Watch): boolean {
  if (!watch.isReused || error instanceof DeadlineError) return false;
  if (statusCode === 408) return singleValue(headerPairs(rawHeaders), 'connection')?.toLowerCase() === 'close';
  return error !== undefined && !watch.hasResponse();
}

/** Splits a URL for undici. Throws for URLs that CreateWebhook and UpdateWebhook reject. */
function requestTarget(text: string): { origin: string; path: string } {
  const url = URL.parse(text);
  if (!url) throw new BlockedAddressError('not a URL');
  const { host, protocol, pathname, search, username, password } = url;
  if (protocol !== 'https:' && protocol !== 'http:') throw new BlockedAddressError(`${protocol} is not allowed`);
  if (username || password) throw new BlockedAddressError('the URL contains a user name or password');
  // The origin's host is also the Host header. Without the final dot, it is the name in certificates.
  return { origin: `${protocol}//${host.replace(/\.(?=:\d+$|$)/, '')}`, path: pathname + search };
}

/** Error codes of Node's TLS module and of OpenSSL's certificate verification. */
const tlsCode =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERROR_IN_C|INVALID_|PATH_LENGTH|HOSTNAME_)/;

/**
 * Returns an error class and a short text, which the delivery log shows. The text contains the failed step and its
 * duration.
 * @param cause the error that broke the connection. undici reports only that the connection ended. For example, an
 * endpoint that rejects our certificate sends its alert after the handshake and then closes.
 * @param responseMs time since the request was sent
 */
function describe(
  error: NodeJS.ErrnoException,
  timeoutMs: number,
  cause: Error | undefined,
  responseMs: number,
): string {
  if (error instanceof ConnectError) return describeConnect(error);
  const { code = '', message }: NodeJS.ErrnoException = (error.code === 'UND_ERR_SOCKET' && cause) || error;
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  const waited = `response: ${durationText(responseMs)}`;
  if (code === 'DEADLINE') return `timeout: no complete response within ${timeoutMs / 1_000} s (${waited})`;
  if (tlsCode.test(code)) return `tls: ${code} (${waited})`;
  // For example status 101, which HTTP does not allow as a response to this request.
  if (code === 'ERR_ASSERTION') return `connection: unexpected response (${waited})`;
  return `connection: ${code || message.slice(0, 200)} (${waited})`;
}

/** Describes why there is no connection. The error class is the step that failed. */
function describeConnect({ code, message, phase, times }: ConnectError): string {
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  const after = `after ${durationText(times[phase])}`;
  if (code === 'PROXY') return `proxy: ${message}`;
  if (code === 'DNS_FAILED') return `dns: ${message} ${after}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `dns: the name does not resolve (${durationText(times[phase])})`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return `${phase}: timed out ${after}`;
  return `${phase}: ${code || message.slice(0, 200)} ${after}`;
}

function durationText(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** The log keeps this many bytes of a response body. */
const bodyLimitBytes = 16 * 1024;
/** A longer body is not read to its end: closing the connection is cheaper than reading on. */
const readLimitBytes = bodyLimitBytes * 16;
/** Parsing a 1xx response costs CPU time; an endless stream of them must be cut off. */
const hintsLimit = 16;

type Controller = Dispatcher.DispatchController;

/** Thrown at undici to end a request that this side ends. */
class EndedHere extends Error {}

/**
 * The received part of the response to a request. It is a handler for undici, which calls it directly: a stream for
 * the body would cost more than the whole response.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Status of the response; 0 while its head is incomplete. */
  statusCode = 0;
  /** Names and values of the response's header fields, alternating. */
  rawHeaders: readonly Buffer[] = [];
  /** Time of the first byte of the response, as performance.now(). */
  firstByteAtMs: number | undefined;
  /** The reason why the response is incomplete; undefined if it is complete, or if enough of it was read. */
  error: Error | undefined;
  /** Resolves when the response is complete, or cannot become complete. */
  readonly ended: Promise<void>;

  readonly #end: () => void;
  readonly #chunks: Buffer[] = [];
  #readBytes = 0;
  #hints = 0;
  #isEnded = false;
  #controller: Controller | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** The received body's start. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Ends the request, also before it is sent. */
  abort(reason: Error): void {
    this.#finish(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    // undici does not send a request that is aborted here.
    if (this.#isEnded) controller.abort(this.error ?? new EndedHere());
  }

  onResponseStarted(): void {
    this.firstByteAtMs ??= performance.now();
  }

  onResponseStart({ rawHeaders }: Controller, statusCode: number): void {
    if (statusCode >= 200) {
      this.statusCode = statusCode;
      this.rawHeaders = rawHeaders as Buffer[];
      return;
    }
    this.#hints += 1;
    if (this.#hints > hintsLimit) this.abort(new Error(`more than ${hintsLimit} responses with status 1xx`));
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const missing = bodyLimitBytes - this.#readBytes;
    if (missing > 0) this.#chunks.push(chunk.length > missing ? chunk.subarray(0, missing) : chunk);
    this.#readBytes += chunk.length;
    if (this.#readBytes <= readLimitBytes) return;
    this.#finish(undefined);
    controller.abort(new EndedHere());
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_: Controller, error: Error): void {
    this.#finish(error);
  }

  #finish(error: Error | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.error = error;
    this.#end();
  }
}
