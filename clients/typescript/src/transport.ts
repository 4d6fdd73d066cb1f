import { ApiError, apiErrorOf, ConnectionError, RateLimitError } from './errors.ts';

/** Settings of a client. */
export interface RmsOptions {
  /** Address of an environment's API, for example `https://api.example.com`. A path is a prefix of all paths. */
  readonly url: string;
  /** Secret, `sk_live_…` or `sk_test_…`. It must never be part of a web page. */
  readonly apiKey: string;
  /** Milliseconds per attempt, including the response. Default: 60,000. */
  readonly timeout?: number | undefined;
  /** Attempts after the first one. Default: 3. */
  readonly maxRetries?: number | undefined;
  /** Replaces the global `fetch`, for example to send requests through a proxy. */
  readonly fetch?: typeof fetch | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Settings of a call. */
export interface CallOptions {
  /** Ends the call; its promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds per attempt. Default: the client's. */
  readonly timeout?: number | undefined;
  /** Attempts after the first one; may be Infinity. Default: the client's. */
  readonly maxRetries?: number | undefined;
  /** More headers, for example `traceparent` or `x-request-id`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Settings of a call that reads an object. */
export interface ReadOptions extends CallOptions {
  /** ETag of an earlier result. If the object is the same, the result has status 304 and no data. */
  readonly ifNoneMatch?: string | undefined;
}

/** Settings of a call that changes or deletes an object. */
export interface ChangeOptions extends CallOptions {
  /** ETag of an earlier result. If the object has changed, rejects with PreconditionFailedError. */
  readonly ifMatch?: string | undefined;
}

/** Settings of a call that creates an object or starts an action. */
export interface CreateOptions extends CallOptions {
  /**
   * Key that makes a repeated call within 24 hours return the first result. Default: a random key, so that the retries
   * of a call take effect once.
   */
  readonly idempotencyKey?: string | undefined;
}

/** A successful response. */
export interface Result<Data> {
  readonly data: Data;
  readonly status: number;
  /** Version of the object for `ifMatch` and `ifNoneMatch`; undefined if the response has none. */
  readonly etag: string | undefined;
  /** X-Request-ID: identifies the request in the request log. */
  readonly requestId: string;
  /** Whether this is the response to an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
  readonly headers: Headers;
}

/** The result of reading an object that still has the ETag of `ifNoneMatch`. */
export interface NotModified extends Result<undefined> {
  readonly status: 304;
}

/** Fields of a query. An object becomes one parameter per member: `metadata[team]=blue`. */
export type Query = object;

/** A request of an operation. */
export interface OperationRequest {
  readonly options?: (CallOptions & ReadOptions & ChangeOptions & CreateOptions) | undefined;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** Whether the operation takes an Idempotency-Key. */
  readonly isKeyed?: boolean;
}

/** A response with its complete body. */
interface CompleteResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The body as JSON; undefined without a body, and if it is not JSON. */
  readonly document: unknown;
}

const defaultTimeoutMs = 60_000;
const defaultRetries = 3;
const firstBackoffMs = 500;
const maxBackoffMs = 8_000;
/** A longer Retry-After, for example of a monthly quota, ends the call. */
const maxRetryAfterSeconds = 60;
/** With these, the service has not decided about the request, or was not reached. */
const retriedStatuses = [408, 429, 502, 503, 504];

/** Sends requests, and repeats those that take effect once. */
export class Transport {
  readonly #url: string;
  readonly #apiKey: string;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;
  readonly #fetch: typeof fetch;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, apiKey, timeout, maxRetries, headers, fetch: ownFetch }: RmsOptions) {
    this.#url = baseOf(url);
    // The error of an invalid header would contain the key.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('`apiKey` is empty, or has characters that no API key has');
    this.#apiKey = apiKey;
    this.#timeoutMs = timeout ?? defaultTimeoutMs;
    this.#maxRetries = maxRetries ?? defaultRetries;
    this.#fetch = ownFetch ?? ((input, init) => fetch(input, init));
    this.#headers = headers ?? {};
  }

  /** Sends the request of an operation on one object, and returns its result. Rejects with an {@link RmsError}. */
  async send<R extends Result<unknown>>(method: string, path: string, request: OperationRequest): Promise<R> {
    const { status, headers, document } = await this.request(method, path, request);
    const result: Result<unknown> = {
      data: (document as { data: unknown } | undefined)?.data,
      status,
      etag: headers.get('etag') ?? undefined,
      requestId: headers.get('x-request-id') ?? '',
      isReplayed: headers.get('idempotency-replayed') === 'true',
      headers,
    };
    return result as R;
  }

  /** Sends a request, and returns the complete response. Rejects with an {@link RmsError}. */
  async request(
    method: string,
    path: string,
    { options = {}, query = {}, body, isKeyed = false }: OperationRequest,
  ): Promise<CompleteResponse> {
    const { signal, ifMatch, ifNoneMatch, timeout = this.#timeoutMs, maxRetries = this.#maxRetries } = options;
    const headers = new Headers({ ...this.#headers, ...options.headers, accept: 'application/json' });
    headers.set('authorization', `Bearer ${this.#apiKey}`);
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (ifMatch !== undefined) headers.set('if-match', ifMatch);
    if (ifNoneMatch !== undefined) headers.set('if-none-match', ifNoneMatch);
    if (isKeyed) headers.set('idempotency-key', options.idempotencyKey ?? randomKey());
    const init: RequestInit = { method, headers, redirect: 'manual' };
    if (body !== undefined) init.body = JSON.stringify(body);
    const url = `${this.#url}${path}${searchOf(query)}`;
    // A PATCH that is repeated after a change by another client would undo that change, unless it has an ETag.
    const hasVersion = (headers.get('if-match') ?? '*').trim() !== '*';
    const isRepeatable = method === 'POST' ? isKeyed : method !== 'PATCH' || hasVersion;
    for (let retries = 0; ; retries += 1) {
      signal?.throwIfAborted();
      const outcome = await this.#attempt(url, init, timeout, signal).catch((error: unknown) => {
        if (error instanceof ConnectionError) return error;
        throw error;
      });
      if (!(outcome instanceof Error)) return outcome;
      const waitMs = isRepeatable || outcome instanceof RateLimitError ? retryDelayMs(outcome, retries) : undefined;
      if (waitMs === undefined || retries >= maxRetries) throw outcome;
      await delay(waitMs, signal);
    }
  }

  /** Sends a request once. Resolves with the response or its error; rejects with a ConnectionError. */
  async #attempt(
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<CompleteResponse | ApiError> {
    // Not AbortSignal.any, which keeps memory for as long as the caller's signal exists.
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => controller.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
    // Called without `this`, because browsers reject a fetch that is called as a method of another object.
    const send = this.#fetch;
    try {
      const response = await send(url, { ...init, signal: controller.signal });
      const { status, headers } = response;
      const document = parsed(await response.text());
      const isComplete = status === 204 || status === 304 || (response.ok && isObject(document));
      return isComplete ? { status, headers, document } : apiErrorOf(status, headers, document);
    } catch (cause) {
      signal?.throwIfAborted();
      const reason: unknown = controller.signal.aborted ? controller.signal.reason : cause;
      throw new ConnectionError(`${url.split('?')[0]}: ${describe(reason)}`, { cause: reason });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

/** Makes a path with encoded IDs. Throws a TypeError for an ID that would change the other segments. */
export function pathOf(texts: TemplateStringsArray, ...ids: readonly string[]): string {
  const wrong = ids.find((id) => /^\.{0,2}$/.test(id));
  if (wrong !== undefined) throw new TypeError(`${JSON.stringify(wrong)} is not an ID`);
  return String.raw({ raw: texts }, ...ids.map(encodeURIComponent));
}

/** Returns the query as text, empty or beginning with `?`. Fields that are undefined are left out. */
export function searchOf(query: Query): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) pairs.append(name, String(one));
    else if (isObject(value))
      for (const [key, one] of Object.entries(value)) pairs.append(`${name}[${key}]`, String(one));
    else if (value !== undefined) pairs.append(name, String(value));
  }
  const text = pairs.toString();
  return text && `?${text}`;
}

/** Waits. Rejects with the signal's reason if it aborts. */
export function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Returns the wait before the next attempt, with jitter; undefined if a retry cannot succeed soon. */
function retryDelayMs(error: ApiError | ConnectionError, retries: number): number | undefined {
  const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** retries) * (0.5 + Math.random() / 2);
  if (!(error instanceof ApiError)) return backoffMs;
  const { status, retryAfter = 0 } = error;
  if (!retriedStatuses.includes(status) || retryAfter > maxRetryAfterSeconds) return undefined;
  return Math.max(backoffMs, retryAfter * 1_000 * (1 + Math.random() / 10));
}

/** Returns the URL that `/v1` paths are appended to. */
function baseOf(text: string): string {
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError('`url` must begin with https:// or http://');
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('`url` must have no user, query or fragment');
  }
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  if (segments.at(-1) === 'v1') segments.pop();
  return [url.origin, ...segments].join('/');
}

/** Makes an idempotency key. `crypto.randomUUID` exists only in secure contexts. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Returns the first cause's message, because fetch's own is always the same. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? describe(error.cause) : error.message || error.name;
}
