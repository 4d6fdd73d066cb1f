import type { Attempt, AttemptSummary, TestAttempt } from '@rms/api';

/** Returns the status code of a successful attempt ("200"), or a failed attempt's error. */
export function responseText({ status, error }: Pick<AttemptSummary, 'status' | 'error'>): string {
  return error ?? String(status);
}

/** Throws unless the endpoint accepted the event of a test. */
export function requireAccepted({ response, error }: Pick<TestAttempt, 'response' | 'error'>): void {
  const status = response?.status || null;
  if (error === null && status === 200) return;
  throw new Error(`The endpoint did not accept the event: ${responseText({ status, error })}.`);
}

/**
 * Returns a line that identifies the attempts between two numbers, which are not stored; [] if no attempt is missing.
 */
export function missingBefore(number: number, previous: number): string[] {
  const [first, last] = [previous + 1, number - 1];
  if (first > last) return [];
  return [first === last ? `(attempt ${first} is not stored)` : `(attempts ${first} to ${last} are not stored)`];
}

/** Formats an attempt as text: lines of the request start with ">", lines of the response with "<". */
export function describeAttempt(attempt: Omit<Attempt, 'number'>): string {
  const { timing, request, response, error, duration_ms: durationMs, remote_address: address } = attempt;
  const status = response?.status || null;
  const firstByte = status === null ? [] : [`first byte ${timing.first_byte_ms} ms`];
  // Plain HTTP, or an open connection.
  const tls = timing.tls_ms === 0 ? [] : [`TLS ${timing.tls_ms} ms`];
  const split = [`DNS ${timing.dns_ms} ms`, `connect ${timing.connect_ms} ms`, ...tls, ...firstByte].join(', ');
  const lines = (marker: string, headers: Readonly<Record<string, string>>) =>
    Object.entries(headers).map(([name, value]) => `${marker} ${name}: ${value}`);
  return [
    `${responseText({ status, error })} after ${durationMs} ms${address ? `, from ${address}` : ''} (${split})`,
    ...lines('>', request.headers),
    ...(status === null ? [] : [`< ${status}`]),
    ...(response ? [...lines('<', response.headers), ...bodyLines(response)] : []),
  ].join('\n');
}

function bodyLines({ body, body_encoding: encoding }: NonNullable<Attempt['response']>): string[] {
  if (encoding === 'base64') return ['', `(base64) ${body}`];
  return body === '' ? [] : ['', body];
}
