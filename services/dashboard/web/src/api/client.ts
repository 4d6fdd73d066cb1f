import type { AccountDocument } from '../../../src/documents/account.ts';
import type { ErrorDocument } from '../../../src/http/refusal.ts';
import { uiTexts } from '../texts/ui.ts';

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

type SessionAccount = Pick<AccountDocument, 'csrf_token' | 'user'>;

/** Account with the data that the page shows. Its CSRF token is sent with changes. */
let current: SessionAccount | undefined;

/** Sets the account with the data that the page shows. */
export function setSession(account: SessionAccount): void {
  current = account;
}

/**
 * Reads the browser session's account, which another tab may have started. Changes then have its CSRF token.
 * Rejects with `other_user` if the session belongs to another user than the data on the page.
 */
export async function renewSession(): Promise<void> {
  const account = await send<SessionAccount>('/api/account');
  if (current) checkSameUser(current, account);
  current = account;
}

/** Throws `other_user` if the browser has signed in as another user than the page's. */
export function checkSameUser({ user: shown }: SessionAccount, { user }: SessionAccount): void {
  if (user.id === shown.id) return;
  throw failure(403, 'other_user', uiTexts().otherUser(user.email, shown.email), '');
}

/** Token of the portal session that every call is made in. Empty: calls are made in the session of the browser's cookie. */
let portalToken = '';

export function setPortalToken(token: string): void {
  portalToken = token;
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: object | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls the API. Rejects with {@link ApiError}. If the user has signed in again in another tab, the call is repeated in
 * the new session.
 */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  try {
    return await send<T>(path, options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'session_changed') throw error;
    await renewSession();
    return send<T>(path, options);
  }
}

async function send<T>(path: string, { method = 'GET', body, idempotencyKey, signal }: Options = {}): Promise<T> {
  const headers: Record<string, string> = {};
  if (body) headers['Content-Type'] = 'application/json';
  if (portalToken) headers['X-Portal-Token'] = portalToken;
  else if (method !== 'GET') headers['X-CSRF-Token'] = current?.csrf_token ?? '';
  if (idempotencyKey) headers['Idempotency-Key'] = idempotencyKey;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: portalToken ? 'omit' : 'same-origin',
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(signal ? { signal } : {}),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw failure(0, 'offline', uiTexts().offline, '');
  }
  if (response.status === 204) return undefined as T;
  const requestId = response.headers.get('X-Request-ID') ?? '';
  const document: unknown = await response.json().catch(() => undefined);
  if (response.ok && document !== undefined) return document as T;
  if (isErrorDocument(document)) throw new ApiError(document);
  // The response comes from a proxy, not from the dashboard.
  throw failure(response.status, 'unreadable', uiTexts().unreadable(response.status), requestId);
}

function failure(status: number, code: string, message: string, requestId: string): ApiError {
  return new ApiError({ error: { status, code, message, request_id: requestId } });
}

function isErrorDocument(document: unknown): document is ErrorDocument {
  return typeof document === 'object' && document !== null && 'error' in document;
}
