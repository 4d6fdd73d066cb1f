import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Response } from '@rms/net/http';
import type {
  DeliveryMetrics as DeliveryMessage,
  RequestMetrics as RequestMessage,
} from '@rms/proto/rms/alerts/v1/usage_pb';
import { DeliveryGrouping, MetricsGranularity, RequestGrouping } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { z } from 'zod';
import { usageOf } from '../backend.ts';
import { defineEndpoint } from '../endpoint.ts';
import { idFilter, timeInput } from '../field-schemas.ts';
import { presentTimeOf, rounded, toTimestamp } from '../times.ts';
import { deliveryGroupings, deliveryMetrics, granularities, requestGroupings, requestMetrics } from './schema.ts';

type Granularity = (typeof granularities)[number];

const granularityMessages: EnumNames<Granularity, MetricsGranularity> = enumNames(MetricsGranularity);
const requestGroupingMessages: EnumNames<(typeof requestGroupings)[number], RequestGrouping> =
  enumNames(RequestGrouping);
const deliveryGroupingMessages: EnumNames<(typeof deliveryGroupings)[number], DeliveryGrouping> =
  enumNames(DeliveryGrouping);

const rangeQuery = {
  from: timeInput.describe('The range begins with the interval that contains this time.'),
  to: timeInput.optional().describe('End of the range, exclusive. Default: now.'),
  granularity: z
    .enum(granularities)
    .default('hour')
    .describe('Length of the intervals, which begin at whole minutes, hours and days of UTC.'),
};

const example = { from: '2026-01-02T00:00:00Z', granularity: 'day' };

const about =
  'Without `group_by`, there is a point for every interval. With `group_by`, there are points for the groups and ' +
  'intervals in which something was counted, so that their sums are the same. Counts appear within two seconds, in ' +
  'groups within ten. Minutes are kept for 2 days, hours for 35 days and days for 400 days. A range with more than ' +
  '1,500 points is refused. Percentiles are estimated from a histogram with fixed buckets; null: nothing was measured.';

const getRequestMetrics = defineEndpoint({
  method: 'get',
  path: '/v1/metrics/requests',
  operationId: 'getRequestMetrics',
  summary: 'Get requests over time',
  description:
    `Requests with a valid key. ${about} Groups of \`route\` are a method and a path, of \`status_class\` \`2xx\` to ` +
    '`5xx`; `none` are requests without a route, or without a response because the client disconnected.',
  tag: 'Metrics',
  permission: 'metrics:read',
  query: z.strictObject({ ...rangeQuery, group_by: z.enum(requestGroupings).optional() }).meta({ example }),
  success: { status: 200, description: 'The requests.', schema: requestMetrics },
  async handle({ context, query, tenant, backend, signal }) {
    const { workspaceId, environment } = tenant;
    const range = rangeOf(query);
    const grouping = query.group_by ? requestGroupingMessages.toValue(query.group_by) : RequestGrouping.UNSPECIFIED;
    const { points, total } = await usageOf(backend).getRequestMetrics(
      { workspaceId, environment, range, grouping },
      { context: context(), signal: signal() },
    );
    return seriesResponse(query.granularity, range, points, total, requestCountsDocument);
  },
});

const getDeliveryMetrics = defineEndpoint({
  method: 'get',
  path: '/v1/metrics/deliveries',
  operationId: 'getDeliveryMetrics',
  summary: 'Get deliveries over time',
  description:
    `Each number is counted when it happens, so a delivery can be created in one interval and end in another. ${about} ` +
    'Attempts and the deliveries that they end are in the groups of their response or error. `status_class` is `2xx` ' +
    'to `5xx`, or `none` without a response; `error_class` is `none` for a success. Everything that is counted without ' +
    'an attempt is in `none`.',
  tag: 'Metrics',
  permission: 'metrics:read',
  query: z
    .strictObject({
      ...rangeQuery,
      group_by: z.enum(deliveryGroupings).optional(),
      webhook_id: idFilter('wh').optional().describe('Only deliveries to this webhook.'),
    })
    .meta({ example }),
  success: { status: 200, description: 'The deliveries.', schema: deliveryMetrics },
  async handle({ context, query, tenant, backend, signal }) {
    const { workspaceId, environment } = tenant;
    const range = rangeOf(query);
    const grouping = query.group_by ? deliveryGroupingMessages.toValue(query.group_by) : DeliveryGrouping.UNSPECIFIED;
    const { points, total } = await usageOf(backend).getDeliveryMetrics(
      { workspaceId, environment, range, grouping, webhookId: query.webhook_id ?? '' },
      { context: context(), signal: signal() },
    );
    return seriesResponse(query.granularity, range, points, total, deliveryCountsDocument);
  },
});

interface RangeQuery {
  readonly from: string;
  readonly to?: string | undefined;
  readonly granularity: Granularity;
}

function rangeOf({ from, to, granularity }: RangeQuery) {
  return {
    from: toTimestamp(from),
    to: toTimestamp(to ?? new Date().toISOString()),
    granularity: granularityMessages.toValue(granularity),
  };
}

function seriesResponse<Message extends Parameters<typeof placeOf>[0]>(
  granularity: Granularity,
  { to }: ReturnType<typeof rangeOf>,
  points: readonly Message[],
  total: Message | undefined,
  countsOf: (message: Message) => object,
): Response {
  if (!total) throw new Error('alerts returned no total');
  const { start } = placeOf(total);
  const document = {
    data: points.map((point) => ({ ...placeOf(point), ...countsOf(point) })),
    meta: { granularity, from: start, to: timestampDate(to).toISOString(), total: countsOf(total) },
  };
  return { status: 200, json: JSON.stringify(document) };
}

/** Returns the API representation of requests in an interval. */
function requestCountsDocument(message: RequestMessage) {
  return {
    count: Number(message.count),
    errors_4xx: Number(message.clientErrors),
    errors_5xx: Number(message.serverErrors),
    rate_limited: Number(message.rateLimited),
    ...percentilesOf(message),
  };
}

/** Returns the API representation of deliveries in an interval. */
function deliveryCountsDocument(message: DeliveryMessage) {
  return {
    created: Number(message.created),
    delivered: Number(message.delivered),
    failed: Number(message.failed),
    canceled: Number(message.canceled),
    skipped: Number(message.skipped),
    filtered: Number(message.filtered),
    attempts: Number(message.attempts),
    ...percentilesOf(message),
  };
}

/** Returns a point's start, and its group if there are groups. */
function placeOf({ startTime, group }: RequestMessage | DeliveryMessage) {
  return { start: presentTimeOf(startTime), ...(group === '' ? {} : { group }) };
}

function percentilesOf({ p50Ms, p95Ms, p99Ms }: RequestMessage | DeliveryMessage) {
  const shown = (ms: number | undefined) => (ms === undefined ? null : rounded(ms));
  return { p50_ms: shown(p50Ms), p95_ms: shown(p95Ms), p99_ms: shown(p99Ms) };
}

export const metricsEndpoints = [getRequestMetrics, getDeliveryMetrics];
