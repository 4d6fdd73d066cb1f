import { isUtf8 } from 'node:buffer';
import type { Header, Attempt as Message } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { presentTimeOf, rounded } from '../times.ts';
import type { Attempt, AttemptSummary, TestAttempt } from './schema.ts';

/** Stored bytes of a response body. */
const storedBodyBytes = 16 * 1024;

/** Returns the API representation of an attempt with its request and response. */
export function attemptDocument(attempt: Message, body: string | null): Attempt {
  return { number: attempt.number, ...fieldsOf(attempt, attempt.url, body) };
}

/** Returns the API representation of a test event's attempt. */
export function testAttemptDocument(
  attempt: Message,
  { deliveryId, url, requestBody }: { readonly deliveryId: string; readonly url: string; readonly requestBody: string },
): TestAttempt {
  return { delivery_id: deliveryId, ...fieldsOf(attempt, url, requestBody) };
}

/** Returns the API representation of an attempt without its request and response. */
export function attemptSummaryOf(attempt: Message): AttemptSummary {
  return { number: attempt.number, ...lastAttemptOf(attempt) };
}

/** Like {@link attemptSummaryOf}, without the number. */
export function lastAttemptOf({ startTime, statusCode, error, durationMs }: Message): Omit<AttemptSummary, 'number'> {
  return {
    started_at: presentTimeOf(startTime),
    status: statusCode || null,
    error: error || null,
    duration_ms: durationMs,
  };
}

function fieldsOf(attempt: Message, url: string, body: string | null): Omit<Attempt, 'number'> {
  const { dnsMs, connectMs, tlsMs, firstByteMs } = attempt;
  return {
    started_at: presentTimeOf(attempt.startTime),
    duration_ms: attempt.durationMs,
    timing: {
      dns_ms: rounded(dnsMs),
      connect_ms: rounded(connectMs),
      tls_ms: rounded(tlsMs),
      first_byte_ms: rounded(firstByteMs),
    },
    request: { url, headers: headersDocument(attempt.requestHeaders), body },
    response: responseDocument(attempt),
    error: attempt.error || null,
    remote_address: attempt.address || null,
  };
}

function responseDocument({ statusCode, responseHeaders, responseBody }: Message): Attempt['response'] {
  if (statusCode === 0 && responseBody.length === 0) return null;
  const body_encoding = isUtf8(responseBody) ? 'utf-8' : 'base64';
  return {
    status: statusCode,
    headers: headersDocument(responseHeaders),
    body: Buffer.from(responseBody).toString(body_encoding),
    body_encoding,
    truncated: responseBody.length >= storedBodyBytes,
  };
}

function headersDocument(headers: readonly Header[]): Record<string, string> {
  const values = new Map<string, string>();
  for (const { name, value } of headers) {
    const known = values.get(name);
    values.set(name, known === undefined ? value : `${known}, ${value}`);
  }
  // fromEntries defines properties, so that a header named __proto__ is plain data.
  return Object.fromEntries(values);
}
