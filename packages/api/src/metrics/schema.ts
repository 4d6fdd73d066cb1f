import { z } from 'zod';
import { shownTime } from '../field-schemas.ts';

export const granularities = ['minute', 'hour', 'day'] as const;
export const requestGroupings = ['route', 'status_class', 'api_key_id'] as const;
export const deliveryGroupings = ['webhook_id', 'event_type', 'status_class', 'error_class'] as const;

const count = z.int().min(0);
const percentiles = Object.fromEntries(
  (['p50_ms', 'p95_ms', 'p99_ms'] as const).map((name) => [
    name,
    z
      .number()
      .min(0)
      .nullable()
      .meta({ examples: [42.5] }),
  ]),
) as Record<'p50_ms' | 'p95_ms' | 'p99_ms', z.ZodNullable<z.ZodNumber>>;

const start = shownTime.describe('Start of the interval.');
const group = z
  .string()
  .optional()
  .meta({ examples: ['5xx'] });

const requestCounts = {
  count: count.describe('Requests with a valid key, including rejected ones.'),
  errors_4xx: count.describe('4xx responses, including 429.'),
  errors_5xx: count,
  rate_limited: count.describe('Requests rejected with `rate_limit_exceeded`.'),
  ...percentiles,
};

const deliveryCounts = {
  created: count.describe('Deliveries of new events.'),
  delivered: count.describe('Deliveries that succeeded. One that is redelivered can succeed again.'),
  failed: count.describe('Deliveries that failed, with a last attempt or without, for example by a disabled webhook.'),
  canceled: count,
  skipped: count.describe('Deliveries that were not attempted because the webhook was disabled.'),
  filtered: count.describe('Events without a delivery because they did not match the filter of the webhook.'),
  attempts: count.describe('HTTP calls.'),
  ...percentiles,
};

const requestPoint = z.strictObject({ start, group, ...requestCounts }).meta({ id: 'RequestMetricsPoint' });
const deliveryPoint = z.strictObject({ start, group, ...deliveryCounts }).meta({ id: 'DeliveryMetricsPoint' });

/** Returns a series schema. */
function seriesOf<Point extends z.ZodType, Total extends z.ZodRawShape>(point: Point, total: Total) {
  return z.strictObject({
    data: z.array(point).describe('Oldest first; in an interval by group. At most 1,500.'),
    meta: z.strictObject({
      granularity: z.enum(granularities),
      from: shownTime.describe('Start of the first interval.'),
      to: shownTime.describe('End of the range in the request.'),
      total: z.strictObject(total).describe('Sums of all points, with percentiles over the whole range.'),
    }),
  });
}

export const requestMetrics = seriesOf(requestPoint, requestCounts).meta({ id: 'RequestMetrics' });
export const deliveryMetrics = seriesOf(deliveryPoint, deliveryCounts).meta({ id: 'DeliveryMetrics' });

/** Requests over time. */
export type RequestMetrics = z.infer<typeof requestMetrics>;
/** Deliveries over time. */
export type DeliveryMetrics = z.infer<typeof deliveryMetrics>;
