import type {
  DeliveryMetrics as DeliveryMessage,
  RequestMetrics as RequestMessage,
} from '@rms/proto/rms/alerts/v1/usage_pb';
import { presentTimeOf, rounded } from '../times.ts';

/** Returns the API representation of requests in an interval. */
export function requestCountsDocument(message: RequestMessage) {
  return {
    count: Number(message.count),
    errors_4xx: Number(message.clientErrors),
    errors_5xx: Number(message.serverErrors),
    rate_limited: Number(message.rateLimited),
    ...percentilesOf(message),
  };
}

/** Returns the API representation of deliveries in an interval. */
export function deliveryCountsDocument(message: DeliveryMessage) {
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
export function placeOf({ startTime, group }: RequestMessage | DeliveryMessage) {
  return { start: presentTimeOf(startTime), ...(group === '' ? {} : { group }) };
}

function percentilesOf({ p50Ms, p95Ms, p99Ms }: RequestMessage | DeliveryMessage) {
  const shown = (ms: number | undefined) => (ms === undefined ? null : rounded(ms));
  return { p50_ms: shown(p50Ms), p95_ms: shown(p95Ms), p99_ms: shown(p99Ms) };
}
