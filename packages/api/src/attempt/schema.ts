import { z } from 'zod';
import { shownTime } from '../field-schemas.ts';

const headers = z.record(z.string(), z.string()).describe('Values of repeated headers are joined with a comma.');
const milliseconds = z
  .number()
  .min(0)
  .meta({ examples: [1.5] });

const fields = {
  started_at: shownTime,
  duration_ms: z.int().min(0),
  timing: z
    .strictObject({
      dns_ms: milliseconds,
      connect_ms: milliseconds,
      tls_ms: milliseconds,
      first_byte_ms: milliseconds.describe('From the end of the connection to the first byte of the response.'),
    })
    .describe('Duration of each phase. 0: the attempt did not reach it, or used an open connection.')
    .meta({ id: 'AttemptTiming' }),
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
      body_encoding: z.enum(['utf-8', 'base64']).describe('`base64` if the body is not UTF-8.'),
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

export const attempt = z
  .strictObject({ number: z.int().min(1).describe('Counts from 1 within the delivery.'), ...fields })
  .meta({ id: 'Attempt' });

export const testAttempt = z
  .strictObject({ delivery_id: z.string().meta({ examples: ['dlv_01jc3v9m0w7y8x2k4n6p8q0r2s'] }), ...fields })
  .meta({ id: 'TestAttempt' });

const shortFields = {
  started_at: shownTime,
  status: z
    .int()
    .nullable()
    .describe('Status of the response, also if the response is incomplete; null without one.')
    .meta({ examples: [200] }),
  error: z
    .string()
    .nullable()
    .describe('Class and text of the error; null if the endpoint responded completely with 200.')
    .meta({ examples: ['timeout: no complete response within 10 s (response: 9.9 s)'] }),
  duration_ms: z
    .int()
    .min(0)
    .meta({ examples: [42] }),
};

export const lastAttempt = z.strictObject(shortFields);
export const attemptSummary = z.strictObject({ number: z.int().min(1), ...shortFields });

/** One HTTP request of a delivery, with its response. */
export type Attempt = z.infer<typeof attempt>;

/** A test event's attempt. */
export type TestAttempt = z.infer<typeof testAttempt>;

/** An attempt without its request and response. */
export type AttemptSummary = z.infer<typeof attemptSummary>;
