import { isUtf8 } from 'node:buffer';
import type { HeaderPair } from '@rms/net/guarded-http';
import type { AttemptResult } from '../attempt/job.ts';

/** An attempt as stored in the log, as JSON. */
export interface LoggedAttempt {
  /** Starts at 1 within a delivery. */
  readonly number: number;
  /** ISO 8601. */
  readonly at: string;
  /** 0 if no status arrived. */
  readonly status_code: number;
  /** Empty if delivered; otherwise an error class, ": " and a text. */
  readonly error: string;
  readonly duration_ms: number;
  readonly dns_ms?: number;
  readonly connect_ms?: number;
  readonly tls_ms?: number;
  readonly first_byte_ms?: number;
  readonly address?: string;
  /** URL of the request; undefined for older attempts. */
  readonly url?: string;
  readonly request_headers?: readonly HeaderPair[];
  readonly response_headers?: readonly HeaderPair[];
  /** The response body, if it is text. */
  readonly response_body?: string;
  /** The response body in base64, if it is not text. */
  readonly response_bytes?: string;
}

/** Maximum length of a logged error, in characters. */
const errorLimit = 500;

/** Converts a result to a log entry without the number, which the database assigns. */
export function toLoggedAttempt(result: AttemptResult): Omit<LoggedAttempt, 'number'> {
  const { timings, address, responseBody } = result;
  return {
    at: result.startedAt.toISOString(),
    status_code: result.statusCode,
    error: result.error.slice(0, errorLimit),
    duration_ms: result.durationMs,
    dns_ms: timings.dns,
    connect_ms: timings.connect,
    tls_ms: timings.tls,
    ...(timings.firstByte === undefined ? {} : { first_byte_ms: timings.firstByte }),
    ...(address === undefined ? {} : { address }),
    request_headers: result.requestHeaders,
    response_headers: result.responseHeaders,
    ...bodyOf(responseBody),
  };
}

/**
 * Serializes an attempt for PostgreSQL's JSON type, which rejects NUL and lone surrogates. Texts from endpoints may
 * contain NUL, and truncation may produce lone surrogates. One rejected value would fail the whole statement.
 */
export function toAttemptJson(result: AttemptResult, url: string): string {
  return JSON.stringify({ ...toLoggedAttempt(result), url }, (_, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', '\ufffd').toWellFormed() : part,
  );
}

/** Stores a body with NUL or invalid UTF-8 as base64, because PostgreSQL's JSON type rejects them. */
function bodyOf(body: Buffer): Pick<LoggedAttempt, 'response_body' | 'response_bytes'> {
  if (body.length === 0) return {};
  const end = completeText(body);
  if (isUtf8(body.subarray(0, end)) && !body.includes(0)) return { response_body: body.toString('utf8', 0, end) };
  return { response_bytes: body.toString('base64') };
}

/** Returns the last complete character's end, because truncation may have split one. */
function completeText(body: Buffer): number {
  for (let back = 1; back <= Math.min(3, body.length); back += 1) {
    const byte = body[body.length - back] as number;
    if (byte < 0x80) return body.length;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? body.length - back : body.length;
    }
  }
  return body.length;
}

/** An attempt without its headers and its body. */
export type AttemptSummary = Omit<
  LoggedAttempt,
  'request_headers' | 'response_headers' | 'response_body' | 'response_bytes'
>;

/**
 * SQL expressions on deliveries `d` of either table. They read the `attempts` column only if the separate columns are
 * null.
 */
export const attemptCount = `coalesce(d.attempt_count, (d.attempts -> -1 ->> 'number')::integer, 0)`;
export const lastAttempt = 'coalesce(d.last_attempt, webhooks.attempt_summary(d.attempts -> -1))';

/** Columns that keep a delivery's attempts when it moves between the queue and the log. */
export const attemptColumns = 'attempts, attempt_count, last_attempt, redeliveries';

/**
 * The attempts that are read with a delivery, in addition to the last one: none, all stored attempts without headers
 * and bodies, or all stored attempts.
 */
export type AttemptsRead = 'none' | 'summaries' | 'all';

/**
 * SQL expressions for the attempts that are read. webhooks.kept_attempts() also bounds rows that were stored without a
 * bound.
 */
export const attemptsRead: Readonly<Record<AttemptsRead, string>> = {
  none: `'[]'::jsonb`,
  summaries: `coalesce((
              select jsonb_agg(webhooks.attempt_summary(one) order by position)
                from jsonb_array_elements(webhooks.kept_attempts(d.attempts)) with ordinality as each (one, position)
            ), '[]')`,
  all: 'webhooks.kept_attempts(d.attempts)',
};

/** SQL expression for the approximate size of a delivery when read, in bytes. It does not read the attempts. */
export const deliveryBytes: Readonly<Record<AttemptsRead, string>> = {
  none: '512 + coalesce(pg_column_size(d.last_attempt), pg_column_size(d.attempts), 0)',
  summaries: '512 + coalesce(pg_column_size(d.attempts), 0)',
  all: '512 + coalesce(pg_column_size(d.attempts), 0)',
};
