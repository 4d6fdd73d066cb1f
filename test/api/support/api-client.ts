import { Agent, type Dispatcher, request } from 'undici';
import type { Contract } from './openapi-contract.ts';

export interface Response<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Parsed body; undefined unless the response is JSON. */
  readonly body: T;
}

export interface RequestOptions {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged; takes precedence over `json`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the client's key; null omits the Authorization header. */
  readonly key?: string | null;
  readonly idempotencyKey?: string;
}

export interface ApiClient {
  readonly baseUrl: string;
  readonly key: string;
  send<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Response<T>>;
  get<T>(path: string, options?: RequestOptions): Promise<Response<T>>;
  post<T>(path: string, json: unknown, options?: RequestOptions): Promise<Response<T>>;
  put<T>(path: string, json: unknown, options?: RequestOptions): Promise<Response<T>>;
  patch<T>(path: string, json: unknown, options?: RequestOptions): Promise<Response<T>>;
  delete<T = undefined>(path: string, options?: RequestOptions): Promise<Response<T>>;
}

const direct = new Agent({ keepAliveTimeout: 1_000 });

/**
 * Creates a REST API client. With a contract, it checks every response against the OpenAPI document.
 * `dispatcher` makes the connections, for URLs with host names that cannot be resolved.
 */
export function createApiClient(
  baseUrl: string,
  key: string,
  contract?: Contract,
  dispatcher: Dispatcher = direct,
): ApiClient {
  const send = async <T>(method: string, path: string, options: RequestOptions = {}): Promise<Response<T>> => {
    const bearer = options.key === undefined ? key : options.key;
    const body = options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
    const response = await request(path.startsWith('http') ? path : baseUrl + path, {
      method,
      dispatcher,
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
        ...options.headers,
      },
      body: body ?? null,
    });
    const text = await response.body.text();
    const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
    const relative = path.startsWith('http') ? new URL(path).pathname : path;
    contract?.check({ method, path: relative, status: response.statusCode, headers, text });
    const json = text !== '' && (headers['content-type'] ?? '').includes('json');
    return { status: response.statusCode, headers, text, body: (json ? JSON.parse(text) : undefined) as T };
  };
  return {
    baseUrl,
    key,
    send,
    get: (path, options) => send('GET', path, options),
    post: (path, json, options) => send('POST', path, { json, ...options }),
    put: (path, json, options) => send('PUT', path, { json, ...options }),
    patch: (path, json, options) => send('PATCH', path, { json, ...options }),
    delete: (path, options) => send('DELETE', path, options),
  };
}

/** Throws an error with the response body unless the response has this status. For setup steps of a test. */
export function expectStatus<T>(response: Response<T>, status: number): Response<T> {
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${response.text}`);
  return response;
}
