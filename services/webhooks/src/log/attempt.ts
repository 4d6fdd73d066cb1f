import { isUtf8 } from 'node:buffer';
import type { AttemptResult, HeaderPair } from '../delivery/job.ts';

/** An attempt as it stands in the log, as JSON. */
export interface LoggedAttempt {
  /** Counts from 1 within the delivery. */
  readonly number: number;
  /** ISO 8601. */
  readonly at: string;
  /** 0: no answer. */
  readonly status_code: number;
  /** Empty if delivered; else a class, ": " and a text. */
  readonly error: string;
  readonly duration_ms: number;
  readonly dns_ms?: number;
  readonly connect_ms?: number;
  readonly tls_ms?: number;
  readonly first_byte_ms?: number;
  readonly address?: string;
  readonly request_headers?: readonly HeaderPair[];
  readonly response_headers?: readonly HeaderPair[];
  /** Text, if it is text. */
  readonly response_body?: string;
  /** Base64, if it is not. */
  readonly response_bytes?: string;
}

/** Everything but the number, which the database knows. */
export function toLoggedAttempt(result: AttemptResult): Omit<LoggedAttempt, 'number'> {
  const { timings, address, responseBody } = result;
  return {
    at: result.startedAt.toISOString(),
    status_code: result.statusCode,
    error: result.error,
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

/** PostgreSQL's JSON cannot hold NUL, nor bytes that are no text. */
function bodyOf(body: Buffer): Pick<LoggedAttempt, 'response_body' | 'response_bytes'> {
  if (body.length === 0) return {};
  const end = completeText(body);
  if (isUtf8(body.subarray(0, end)) && !body.includes(0)) return { response_body: body.toString('utf8', 0, end) };
  return { response_bytes: body.toString('base64') };
}

/** Where the last whole character ends: what was cut may have been cut inside one. */
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
