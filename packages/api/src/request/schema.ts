import { environments } from '@rms/base/tenant';
import { eventTypes } from '@rms/base/webhook-events';
import { z } from 'zod';
import { attemptSummary } from '../attempt/schema.ts';
import { auditEntry } from '../audit-entry/schema.ts';
import { delivery } from '../delivery/schema.ts';
import { shownTime } from '../field-schemas.ts';
import { listOf, noTotal } from '../list.ts';

const milliseconds = z
  .number()
  .min(0)
  .meta({ examples: [12.34] });
const traceId = z
  .string()
  .nullable()
  .describe('Trace in the telemetry of the installation; null if it was not traced.')
  .meta({ examples: ['0af7651916cd43dd8448eb211c80319c'] });

const fields = {
  request_id: z.string().meta({ examples: ['req_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  type: z.literal('request'),
  method: z.string().meta({ examples: ['PATCH'] }),
  path: z
    .string()
    .nullable()
    .describe('Without the query, at most 200 characters; null if no route matched, or for a change in the dashboard.')
    .meta({ examples: ['/v1/resources/res_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  route: z
    .string()
    .nullable()
    .describe('Null if no route matched.')
    .meta({ examples: ['/v1/resources/{id}'] }),
  status: z
    .int()
    .nullable()
    .describe('Null if the client disconnected before the response.')
    .meta({ examples: [200] }),
  error_code: z
    .string()
    .nullable()
    .meta({ examples: ['not_found'] }),
  api_key_id: z.string().nullable().describe('Null for a change in the dashboard.'),
  user_id: z.string().nullable().describe('User who made the change in the dashboard; null for an API request.'),
  client_ip: z.string().nullable(),
  duration_ms: milliseconds,
  started_at: shownTime,
  trace_id: traceId,
};

export const request = z.strictObject(fields).meta({ id: 'Request' });
export const requestList = listOf(request, {
  ...noTotal,
  left_out: z
    .int()
    .min(0)
    .describe(
      'Requests of this environment on the days (UTC) of the filter that were only counted, regardless of other filters.',
    ),
}).meta({ id: 'RequestList' });

const reached = milliseconds.nullable().describe('Milliseconds since the start; null if the step was not reached.');

const environment = z.enum(environments);

export const timeline = z
  .strictObject({
    request_id: z.string().meta({ examples: ['req_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('request_timeline'),
    trace_ids: z.array(z.string()),
    requests: z
      .array(
        z.strictObject({
          ...fields,
          environment,
          api_key_hint: z.string().nullable().describe('Beginning and end of the key.'),
          api_key_name: z.string().nullable(),
          replayed: z.boolean().describe('Whether the response was stored for its Idempotency-Key.'),
          authenticated_ms: reached,
          limited_ms: reached,
          handled_ms: reached,
        }),
      )
      .describe('Newest first, at most 100. A client may send the same X-Request-ID more than once.'),
    events: z
      .array(
        z.strictObject({
          id: z.string(),
          type: z.enum(eventTypes),
          environment,
          actor: z
            .string()
            .nullable()
            .describe('`key:` or `user:` with an ID. Null: unknown.')
            .meta({ examples: ['key:key_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
          resource_id: z.string(),
          sequence: z.int().min(1),
          created_at: shownTime,
          stored_at: shownTime.nullable().describe('Time at which the event reached the feed.'),
          partition: z.int().nullable().describe('Kafka partition of the event; null if it is not known.'),
          offset: z.string().nullable().describe('Offset in the partition.'),
          trace_id: traceId,
        }),
      )
      .describe('Events of the request in the order of their sequence numbers, at most 1,000.'),
    deliveries: z
      .array(
        z.strictObject({
          ...delivery.shape,
          attempts: z.array(attemptSummary),
        }),
      )
      .describe('The 200 newest deliveries of these events.'),
    has_more_deliveries: z.boolean(),
    audit_entries: z
      .array(auditEntry)
      .describe(
        'Changes that the request made, and later redeliveries of its deliveries, oldest first. Empty for a user ' +
          'without the permission to read the audit log.',
      ),
    steps: z
      .array(
        z.strictObject({
          at: shownTime,
          text: z.string().meta({ examples: ['responded 201 after 12.34 ms'] }),
          outcome: z
            .enum(['success', 'failure'])
            .nullable()
            .describe('Outcome of a response or an attempt; null for other steps.'),
          event_id: z.string().nullable(),
          delivery_id: z.string().nullable(),
        }),
      )
      .describe('Requests, changes, events, deliveries, attempts and redeliveries as steps in chronological order.'),
  })
  .meta({ id: 'RequestTimeline' });

export const oneTimeline = z.strictObject({ data: timeline });

/** A request in the request log. */
export type Request = z.infer<typeof request>;

/** All records about an X-Request-ID. */
export type Timeline = z.infer<typeof timeline>;
