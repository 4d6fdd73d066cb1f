import { Agent, type Dispatcher, request } from 'undici';
import type { Contract } from './openapi-contract.ts';

export interface Answer<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body; undefined if there was none. */
  readonly body: T;
}

export interface RequestOptions {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is; wins over `json`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another key than the client's; null: no Authorization header. */
  readonly key?: string | null;
  readonly idempotencyKey?: string;
}

export interface ApiClient {
  readonly baseUrl: string;
  readonly key: string;
  send<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>;
  get<T>(path: string, options?: RequestOptions): Promise<Answer<T>>;
  post<T>(path: string, json: unknown, options?: RequestOptions): Promise<Answer<T>>;
  patch<T>(path: string, json: unknown, options?: RequestOptions): Promise<Answer<T>>;
  delete<T = undefined>(path: string, options?: RequestOptions): Promise<Answer<T>>;
}

const direct = new Agent({ keepAliveTimeout: 1_000 });

/**
 * A client of the REST API that holds every answer to the OpenAPI document, if a contract is given. `dispatcher` makes
 * its connections, if the names of URLs cannot be looked up.
 */
export function createApiClient(
  baseUrl: string,
  key: string,
  contract?: Contract,
  dispatcher: Dispatcher = direct,
): ApiClient {
  const send = async <T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> => {
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
    patch: (path, json, options) => send('PATCH', path, { json, ...options }),
    delete: (path, options) => send('DELETE', path, options),
  };
}

/** Throws, with the body, unless the answer has this status. For the steps of a test that are not its point. */
export function expectStatus<T>(answer: Answer<T>, status: number): Answer<T> {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  return answer;
}
