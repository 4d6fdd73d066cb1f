import type { ServerResponse } from 'node:http';
import { type FieldViolation, toRmsError } from '@rms/errors';
import { sendAnswer } from '@rms/http';

/** Why a browser is refused, beside what the services refuse (packages/errors). */
const refusals = {
  not_signed_in: [401, 'Sign in first: there is no session, or it has ended.'],
  second_factor_required: [401, 'The second factor is missing.'],
  sign_in_refused: [401, 'The e-mail address and password do not match.'],
  code_refused: [401, 'The code is not right, or it has been used.'],
  cross_site_request: [403, 'The request did not come from a page of the dashboard. Load the page again.'],
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

/** The body of every answer that is no success. */
export interface ErrorDocument {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly status: number;
    /** For who asks us about it. */
    readonly request_id: string;
    readonly details?: readonly FieldViolation[];
    /** When to try again. */
    readonly retry_after_seconds?: number;
  };
}

export function sendError(response: ServerResponse, thrown: unknown, requestId: string): void {
  const { status, retryAfterSeconds, ...error } = describe(thrown);
  const document: ErrorDocument = {
    error: {
      ...error,
      status,
      request_id: requestId,
      ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
    },
  };
  const headers = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
  sendAnswer(response, { status, json: JSON.stringify(document), headers });
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
    // What went wrong inside is nobody's business, whoever wrote a text of its own for it.
    message: code === 'internal_error' ? kind.message : message,
    status: kind.httpStatus,
    ...(details.length > 0 ? { details } : {}),
    ...(retryAfterSeconds !== undefined || kind.httpStatus === 429 || kind.httpStatus === 503
      ? { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds ?? 1)) }
      : {}),
  };
}
