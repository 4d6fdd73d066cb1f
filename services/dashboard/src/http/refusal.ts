import { type FieldViolation, toRmsError } from '@rms/base/errors';
import { sendResponse } from '@rms/net/http';
import type { PageResponse } from './locals.ts';

/**
 * Statuses and messages of the errors that only the dashboard returns. @rms/base/errors contains the errors of all
 * services, and docs/errors.md documents both.
 */
export const refusals = {
  not_signed_in: [401, 'Sign in first. There is no session, or it has expired.'],
  second_factor_required: [401, 'The code of the authenticator app is missing. Enter it to finish signing in.'],
  sign_in_refused: [401, 'The email address or password is wrong.'],
  code_refused: [401, 'The code is wrong or was already used. Enter the current code, or an unused recovery code.'],
  cross_site_request: [
    403,
    'The request did not come from a page of this dashboard. Reload the page. If this repeats, the address in the browser differs from DASHBOARD_URL.',
  ],
  portal_session_ended: [401, 'The portal session has ended. Open the portal again with a new link.'],
  session_changed: [403, 'This browser has signed in again since the page was loaded. Reload the page.'],
} as const;

export type RefusalCode = keyof typeof refusals;

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;

  constructor(code: RefusalCode) {
    super(refusals[code][1]);
    this.code = code;
  }
}

/** Body of every error response. */
export interface ErrorDocument {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly status: number;
    /** Request ID to quote in support requests. */
    readonly request_id: string;
    readonly details?: readonly FieldViolation[];
    /** Delay until a retry makes sense. */
    readonly retry_after_seconds?: number;
  };
}

export function sendError(response: PageResponse, thrown: unknown, requestId: string): void {
  const { status, retryAfterSeconds, ...error } = describe(thrown);
  response.locals.errorCode = error.code;
  const document: ErrorDocument = {
    error: {
      ...error,
      status,
      request_id: requestId,
      ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
    },
  };
  const headers = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
  sendResponse(response, { status, json: JSON.stringify(document), headers });
}

interface Description extends Omit<ErrorDocument['error'], 'request_id' | 'retry_after_seconds'> {
  readonly retryAfterSeconds?: number;
}

function describe(thrown: unknown): Description {
  if (thrown instanceof Refusal)
    return { code: thrown.code, message: thrown.message, status: refusals[thrown.code][0] };
  const { code, kind, message, details, retryAfterSeconds } = toRmsError(thrown);
  return {
    code,
    // Internal errors always get the generic message, so that no internal detail reaches the client.
    message: code === 'internal_error' ? kind.message : message,
    status: kind.httpStatus,
    ...(details.length > 0 ? { details } : {}),
    ...(retryAfterSeconds !== undefined || kind.httpStatus === 429 || kind.httpStatus === 503
      ? { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds ?? 1)) }
      : {}),
  };
}
