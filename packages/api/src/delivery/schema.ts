import { endReasons, eventTypes } from '@rms/base/webhook-events';
import { z } from 'zod';
import { attempt, lastAttempt } from '../attempt/schema.ts';
import { shownTime } from '../field-schemas.ts';
import { listOf, noTotal } from '../list.ts';
import { delayReasons, deliveryStatuses } from './status.ts';

export const deliveryStatus = z.enum(deliveryStatuses.names);

export const deliveryId = z.string().meta({ pattern: '^dlv_[0-9a-z]+$', examples: ['dlv_01jc3v9m0w7y8x2k4n6p8q0r2s'] });

const fields = {
  id: deliveryId,
  type: z.literal('delivery'),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.enum(eventTypes),
  resource_id: z.string().describe('Resource of the event. Of an operational event: its webhook, key or workspace.'),
  request_id: z.string().describe('X-Request-ID of the change that caused the event, or of the test.'),
  test: z.boolean().describe('Whether a test sent the event. A test delivery cannot be redelivered.'),
  origin: z
    .string()
    .describe('Cause of the delivery or of its last redelivery: `event`, `redelivery`, `test`, or the ID of a replay.')
    .meta({ examples: ['event'] }),
  status: deliveryStatus.describe(
    '`retrying`: an attempt has failed, and others follow. `failed`: it ended without being delivered. `skipped`: the ' +
      'webhook was disabled when the event arrived.',
  ),
  attempt_count: z.int().min(0).describe('All attempts, including those that are no longer stored.'),
  next_attempt_at: shownTime
    .nullable()
    .describe(
      'Null if the delivery has ended, waits for an earlier delivery of its resource, or its webhook is paused. With a `delay_reason`, the ' +
        'next attempt of the webhook, which may be an attempt of another delivery.',
    ),
  delay_reason: z
    .enum(delayReasons.names)
    .nullable()
    .describe(
      'Why the delivery is not attempted although it is due. `rate_limit`: the webhook has reached its ' +
        '`requests_per_second`. `circuit_open`: the endpoint has failed many times in a row, and only occasional ' +
        'probes are sent. `paused`: the webhook is paused.',
    ),
  last_attempt: lastAttempt.nullable(),
  end_reason: z
    .enum(endReasons)
    .nullable()
    .describe(
      'Why the delivery ended without being delivered. `retries_exhausted`: the last attempt failed. `endpoint_gone`: ' +
        'the endpoint responded with 410. `webhook_disabled`, `webhook_deleted`: the delivery was pending at that time, ' +
        'or is `skipped`. `expired`: it was pending until the delivery log was about to drop its day. `event_erased`: the ' +
        'event has no body anymore. `canceled`: a user or a key canceled it. Null if it has not ended, is `delivered`, or ' +
        'was ended by a version that did not record the reason.',
    ),
  created_at: shownTime.describe('Time of the event.'),
  ended_at: shownTime.nullable(),
};

export const delivery = z.strictObject(fields).meta({ id: 'Delivery' });
export const oneDelivery = z.strictObject({ data: delivery });
export const deliveryList = listOf(delivery, noTotal).meta({ id: 'DeliveryList' });

export const fullDelivery = z
  .strictObject({
    ...fields,
    trace_id: z
      .string()
      .nullable()
      .describe('Trace of the change in the telemetry of the installation; null if it was not traced.'),
    request_body: z.string().nullable().describe('The event as it is sent. Null once it has been erased.'),
    attempts: z
      .array(attempt)
      .describe(
        'Oldest first; at most 100 and 256 KiB. The first and the last are kept; a gap in their numbers shows the ' +
          'dropped attempts. The body of the request is the same in all of them; it is null in further ones if the ' +
          'copies would exceed 1 MiB together. The URL is empty for attempts that were recorded without it.',
      ),
  })
  .meta({ id: 'DeliveryWithAttempts' });

export const oneFullDelivery = z.strictObject({ data: fullDelivery });

/** A delivery, without its attempts. */
export type Delivery = z.infer<typeof delivery>;

/** A delivery with its stored attempts. */
export type FullDelivery = z.infer<typeof fullDelivery>;
