import { isUtf8 } from 'node:buffer';
import type { Attempt, Header } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { time } from './documents.ts';

/** An attempt in short, as lists of deliveries have it. */
export function attemptDocument({ startTime, statusCode, error, durationMs }: Attempt) {
  return { at: time(startTime), status_code: statusCode || null, error: error || null, duration_ms: durationMs };
}

export type FullAttemptDocument = ReturnType<typeof fullAttemptDocument>;

/** All of an attempt. Signatures among the headers give no secret away. */
export function fullAttemptDocument(attempt: Attempt) {
  const { number, address, dnsMs, connectMs, tlsMs, firstByteMs, responseBody } = attempt;
  const isText = isUtf8(responseBody);
  return {
    number,
    ...attemptDocument(attempt),
    dns_ms: dnsMs,
    connect_ms: connectMs,
    tls_ms: tlsMs,
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

/** "200", or what went wrong. */
export function answerText({ status_code, error }: ReturnType<typeof attemptDocument>): string {
  return error ?? String(status_code);
}

/** All of an attempt for a person: what was sent after ">", what came back after "<". */
export function describeAttempt(attempt: FullAttemptDocument): string {
  const { dns_ms, connect_ms, tls_ms, first_byte_ms, request_headers, response_headers } = attempt;
  const firstByte = first_byte_ms === null ? [] : [`first byte ${first_byte_ms} ms`];
  const split = [`DNS ${dns_ms} ms`, `connect ${connect_ms} ms`, `TLS ${tls_ms} ms`, ...firstByte].join(', ');
  const status = attempt.status_code === null ? [] : [`< ${attempt.status_code}`];
  const lines = (mark: string, headers: typeof request_headers) =>
    headers.map(({ name, value }) => `${mark} ${name}: ${value}`);
  return [
    `${answerText(attempt)}, after ${attempt.duration_ms} ms${attempt.address ? `, from ${attempt.address}` : ''} (${split})`,
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
