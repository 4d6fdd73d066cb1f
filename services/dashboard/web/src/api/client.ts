import type { ErrorDocument } from '../../../src/http/refusal.ts';

/** What the back end answered instead of a success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** For who asks us about it; empty: it did not get there. */
  readonly requestId: string;
  readonly details: readonly { readonly field: string; readonly message: string }[];

  constructor({ error }: ErrorDocument) {
    super(error.message);
    this.status = error.status;
    this.code = error.code;
    this.requestId = error.request_id;
    this.details = error.details ?? [];
  }

  /** What is wrong with a field, if that is told. */
  about(field: string): string | undefined {
    return this.details.find((detail) => detail.field === field)?.message;
  }
}

/** What the back end said of a field as it refused what was sent; undefined: nothing, or it was not that. */
export function aboutField(error: unknown, field: string): string | undefined {
  return error instanceof ApiError ? error.about(field) : undefined;
}

/** Proves that a change was asked for by a page of ours; known once the account is. */
let csrfToken = '';

export function setCsrfToken(token: string): void {
  csrfToken = token;
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Calls the back end. Rejects with {@link ApiError}. */
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
    throw failure(0, 'offline', 'The dashboard cannot be reached. Is the network up?', '');
  }
  if (response.status === 204) return undefined as T;
  const requestId = response.headers.get('X-Request-ID') ?? '';
  const document: unknown = await response.json().catch(() => undefined);
  if (response.ok && document !== undefined) return document as T;
  if (isErrorDocument(document)) throw new ApiError(document);
  // A proxy in between has answered.
  throw failure(response.status, 'unreadable', `The answer could not be read (HTTP ${response.status}).`, requestId);
}

function failure(status: number, code: string, message: string, requestId: string): ApiError {
  return new ApiError({ error: { status, code, message, request_id: requestId } });
}

function isErrorDocument(document: unknown): document is ErrorDocument {
  return typeof document === 'object' && document !== null && 'error' in document;
}
