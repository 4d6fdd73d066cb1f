import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { withDeadline } from '@rms/async';
import {
  createHttpConnections,
  createProxyChoice,
  followHttpsProxy,
  type ProxyChoice,
  parseProxy,
} from '@rms/net/dial';
import { orSettingsError, readSettings } from '@rms/runtime/settings';
import { withDetails } from '../failure.ts';
import type { Profile } from './profiles.ts';

/** A request to the API. */
export interface ApiRequest {
  readonly method: string;
  /** With "/v1", and with the query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const timeoutMs = 30_000;
/** An API response has at most 1 MiB; a delivery with all its attempts may have more. */
const responseLimitBytes = 64 * 1024 * 1024;

/** An error response of the API. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Returns the document of {@link requestApi}. */
export async function callApi<T>(target: Profile, request: ApiRequest): Promise<T> {
  return (await requestApi<T>(target, request)).document;
}

/** A successful response of the API. */
export interface ApiResponse<T> {
  /** Undefined without a body. */
  readonly document: T;
  /** Time of the response by the API's clock, in whole seconds as Unix milliseconds. */
  readonly atMs: number;
}

/**
 * Sends a request with an API key. The request goes through the proxy of HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY
 * contains the host.
 * Rejects with {@link ApiError} if the API refuses it, and with an error that identifies the address if nothing
 * responds.
 */
export async function requestApi<T>({ url, api_key: key }: Profile, request: ApiRequest): Promise<ApiResponse<T>> {
  const deadline = withDeadline(request.signal ?? new AbortController().signal, timeoutMs, 'the request');
  try {
    const { status, text, requestId, atMs } = await send(new URL(url + request.path), key, {
      ...request,
      signal: deadline.signal,
    });
    const document = text === '' ? undefined : parsed(text);
    if (status >= 200 && status < 300 && document !== null) return { document: document as T, atMs };
    throw errorOf(status, document ?? {}, { url, requestId });
  } catch (error) {
    if (error instanceof ApiError || request.signal?.aborted) throw error;
    const why = deadline.signal.aborted ? `no response within ${timeoutMs / 1000} s` : describe(error);
    throw new Error(`${url}: ${why}`, { cause: error });
  } finally {
    deadline.end();
  }
}

function send(url: URL, key: string, { method, body, headers, signal }: ApiRequest) {
  const isTls = url.protocol === 'https:';
  const json = body === undefined ? undefined : JSON.stringify(body);
  return new Promise<{ status: number; text: string; requestId: string; atMs: number }>((resolve, reject) => {
    const call = (isTls ? requestHttps : requestHttp)(
      url,
      {
        method: method.toUpperCase(),
        defaultPort: isTls ? 443 : 80,
        ...(signal ? { signal } : {}),
        headers: {
          authorization: `Bearer ${key}`,
          accept: 'application/json',
          'user-agent': 'rms-cli',
          ...(json === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) }),
          ...headers,
        },
        createConnection: createHttpConnections({ isTls, timeoutMs, proxyFor: proxyOf(isTls) }),
      },
      (response) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        response.on('data', (part: Buffer) => {
          bytes += part.length;
          if (bytes > responseLimitBytes) call.destroy(new Error('the response is too large'));
          else parts.push(part);
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(parts).toString('utf8'),
            requestId: String(response.headers['x-request-id'] ?? ''),
            atMs: Date.parse(response.headers.date ?? '') || Date.now(),
          }),
        );
        response.on('error', reject);
      },
    );
    call.on('error', reject);
    call.end(json);
  });
}

function proxyOf(isTls: boolean): ProxyChoice {
  const { env } = process;
  const settings = readSettings(env, ['HTTPS_PROXY', 'NO_PROXY']);
  if (isTls) return followHttpsProxy(settings)({ info() {}, error() {} });
  const url = env.HTTP_PROXY || env.http_proxy;
  const proxy = url ? orSettingsError(() => parseProxy(url), 'HTTP_PROXY: ') : undefined;
  return createProxyChoice(proxy, settings.NO_PROXY);
}

interface ErrorDocument {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: readonly { readonly field?: string; readonly message?: string }[];
  };
}

function errorOf(
  status: number,
  { error }: ErrorDocument,
  { url, requestId }: { url: string; requestId: string },
): ApiError {
  if (!error?.message)
    return new ApiError(status, '', `${url}: the response has status ${status} and is not of the API.`);
  // A single violation's message repeats it.
  const others = (error.details ?? []).filter(({ message = '' }) => !error.message?.includes(message));
  const message = withDetails(error.message, others);
  return new ApiError(status, error.code ?? '', `${message} (${status} ${error.code}, request ${requestId})`);
}

/** Parses a document; null if it is none. */
function parsed(text: string): object | null {
  try {
    const document: unknown = JSON.parse(text);
    return typeof document === 'object' ? document : null;
  } catch {
    return null;
  }
}

function describe(error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string };
  if (code === 'PROXY') return `the HTTP proxy failed: ${message}`;
  if (code === 'ECONNREFUSED') return 'connection refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name does not resolve';
  return message || code;
}
