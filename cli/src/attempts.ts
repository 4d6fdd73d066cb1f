import { isUtf8 } from 'node:buffer';
import type { Attempt, Header } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { time } from './documents.ts';

/** Returns the summary of an attempt for lists of deliveries. */
export function attemptDocument({ number, startTime, statusCode, error, durationMs }: Attempt) {
  return {
    number,
    at: time(startTime),
    status_code: statusCode || null,
    error: error || null,
    duration_ms: durationMs,
  };
}

export type AttemptDocument = ReturnType<typeof attemptDocument>;
export type FullAttemptDocument = ReturnType<typeof fullAttemptDocument>;

/** Returns an attempt with all its details. The headers contain signatures, but no secrets. */
export function fullAttemptDocument(attempt: Attempt) {
  const { address, dnsMs, connectMs, tlsMs, firstByteMs, responseBody } = attempt;
  const isText = isUtf8(responseBody);
  return {
    ...attemptDocument(attempt),
    dns_ms: dnsMs,
    connect_ms: connectMs,
    // Null: plain HTTP, or a reused connection.
    tls_ms: tlsMs || null,
    first_byte_ms: attempt.statusCode === 0 ? null : firstByteMs,
    address: address || null,
    request_headers: attempt.requestHeaders.map(headerDocument),
    response_headers: attempt.responseHeaders.map(headerDocument),
    response_body: isText ? Buffer.from(responseBody).toString('utf8') : null,
    ...(isText ? {} : { response_body_base64: Buffer.from(responseBody).toString('base64') }),
  };
}

function headerDocument({ name, value }: Header) {
  return { name, value };
}

/** Returns the status code of a successful attempt ("200"), or the error of a failed attempt. */
export function responseText({ status_code, error }: Pick<AttemptDocument, 'status_code' | 'error'>): string {
  return error ?? String(status_code);
}

/** Returns a line that names the attempts between two numbers, which are not stored; [] if no attempt is missing. */
export function missingBefore(number: number, previous: number): string[] {
  const [first, last] = [previous + 1, number - 1];
  if (first > last) return [];
  return [first === last ? `(attempt ${first} is not stored)` : `(attempts ${first} to ${last} are not stored)`];
}

/** Formats an attempt as text: lines of the request start with ">", lines of the response with "<". */
export function describeAttempt(attempt: FullAttemptDocument): string {
  const { dns_ms, connect_ms, tls_ms, first_byte_ms, request_headers, response_headers } = attempt;
  const firstByte = first_byte_ms === null ? [] : [`first byte ${first_byte_ms} ms`];
  const tls = tls_ms === null ? [] : [`TLS ${tls_ms} ms`];
  const split = [`DNS ${dns_ms} ms`, `connect ${connect_ms} ms`, ...tls, ...firstByte].join(', ');
  const status = attempt.status_code === null ? [] : [`< ${attempt.status_code}`];
  const lines = (marker: string, headers: typeof request_headers) =>
    headers.map(({ name, value }) => `${marker} ${name}: ${value}`);
  return [
    `${responseText(attempt)} after ${attempt.duration_ms} ms${attempt.address ? `, from ${attempt.address}` : ''} (${split})`,
    ...lines('>', request_headers),
    ...status,
    ...lines('<', response_headers),
    ...bodyLines(attempt),
  ].join('\n');
}

function bodyLines({ response_body: text, response_body_base64: bytes }: FullAttemptDocument): string[] {
  if (text === null) return ['', `(base64) ${bytes}`];
  return text === '' ? [] : ['', text];
}
