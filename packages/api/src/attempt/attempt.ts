import type { Attempt, Header } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { z } from 'zod';
import { shownTime, timeOf } from '../time-schemas.ts';

/** Stored bytes of a response body. */
const storedBodyBytes = 16 * 1024;

const headers = z.record(z.string(), z.string()).describe('Values of repeated headers are joined with a comma.');

/** Fields of an attempt in a response. */
export const attemptFields = {
  number: z.int().min(1).describe('Counts from 1 within the delivery.'),
  started_at: shownTime,
  duration_ms: z.int().min(0),
  request: z.strictObject({
    url: z.string(),
    headers,
    body: z.string().nullable().describe('The event. Null once it has been erased.'),
  }),
  response: z
    .strictObject({
      status: z.int().describe('0 if the bytes in `body` are not an HTTP response.'),
      headers,
      body: z.string(),
      truncated: z.boolean().describe('Whether the body may be longer. The first 16 KiB are stored.'),
    })
    .nullable()
    .describe('The part of the response that arrived, which may be incomplete. Null if nothing arrived.'),
  error: z
    .string()
    .nullable()
    .describe('Error class and text. Null if the endpoint responded completely with 200.')
    .meta({ examples: ['timeout: no complete response within 10 s (response: 9.9 s)'] }),
  remote_address: z.string().nullable().describe('Address of the connection. Null if there was none.'),
};

/** Returns the API representation of an attempt, before serialization. */
export function attemptDocument(attempt: Attempt, { url, body }: { url: string; body: string | null }) {
  const { statusCode, responseBody } = attempt;
  return {
    number: attempt.number,
    started_at: timeOf(attempt.startTime),
    duration_ms: attempt.durationMs,
    request: { url, headers: headersDocument(attempt.requestHeaders), body },
    response:
      statusCode === 0 && responseBody.length === 0
        ? null
        : {
            status: statusCode,
            headers: headersDocument(attempt.responseHeaders),
            body: Buffer.from(responseBody).toString(),
            truncated: responseBody.length >= storedBodyBytes,
          },
    error: attempt.error || null,
    remote_address: attempt.address || null,
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
