import type { ErrorDocument } from '../../../src/http/refusal.ts';

/** Error response of the API. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** Request ID for support requests. Empty if the request did not reach the server. */
  readonly requestId: string;
  readonly details: readonly { readonly field: string; readonly message: string }[];

  constructor({ error }: ErrorDocument) {
    super(error.message);
    this.status = error.status;
    this.code = error.code;
    this.requestId = error.request_id;
    this.details = error.details ?? [];
  }

  /** Returns the error message of a field, if there is one. */
  messageOf(field: string): string | undefined {
    return this.details.find((detail) => detail.field === field)?.message;
  }
}

/** Returns the error message of a field if `error` is an API error that has one. */
export function fieldError(error: unknown, field: string): string | undefined {
  return error instanceof ApiError ? error.messageOf(field) : undefined;
}

/** CSRF token for changes. Set when the account is loaded. */
let csrfToken = '';

export function setCsrfToken(token: string): void {
  csrfToken = token;
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Calls the API. Rejects with {@link ApiError}. */
export async function call<T>(path: string, { method = 'GET', body, signal }: Options = {}): Promise<T> {
  const headers: Record<string, string> = {};
  if (body) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') headers['X-CSRF-Token'] = csrfToken;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(signal ? { signal } : {}),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw failure(0, 'offline', 'The dashboard is unreachable. Check your network connection.', '');
  }
  if (response.status === 204) return undefined as T;
  const requestId = response.headers.get('X-Request-ID') ?? '';
  const document: unknown = await response.json().catch(() => undefined);
  if (response.ok && document !== undefined) return document as T;
  if (isErrorDocument(document)) throw new ApiError(document);
  // The response comes from a proxy, not from the dashboard.
  throw failure(response.status, 'unreadable', `The response could not be read (HTTP ${response.status}).`, requestId);
}

function failure(status: number, code: string, message: string, requestId: string): ApiError {
  return new ApiError({ error: { status, code, message, request_id: requestId } });
}

function isErrorDocument(document: unknown): document is ErrorDocument {
  return typeof document === 'object' && document !== null && 'error' in document;
}
