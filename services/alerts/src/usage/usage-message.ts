import { UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { latencyQuantile } from '@rms/reporting/usage';
import { timestampFromMs } from '@rms/rpc';
import { type DeliverySums, type RequestSums, type Span, startOf } from './usage.ts';

/** Converts a span. Returns undefined for an unspecified or unknown one. */
export function fromSpanMessage(span: UsageSpan): Span | undefined {
  if (span === UsageSpan.HOUR) return 'hour';
  if (span === UsageSpan.DAY) return 'day';
  if (span === UsageSpan.MONTH) return 'month';
  return undefined;
}

/** Converts a point to rms.alerts.v1.UsagePoint. */
export function toPointMessage(startMs: number, requests: RequestSums, deliveries: DeliverySums) {
  return {
    startTime: timestampFromMs(startMs),
    requests: BigInt(requests.requests),
    admitted: BigInt(requests.admitted),
    clientErrors: BigInt(requests.clientErrors),
    serverErrors: BigInt(requests.serverErrors),
    rateLimited: BigInt(requests.rateLimited),
    quotaRefused: BigInt(requests.quotaRefused),
    p50Ms: latencyQuantile(requests.latencies, 0.5),
    p95Ms: latencyQuantile(requests.latencies, 0.95),
    p99Ms: latencyQuantile(requests.latencies, 0.99),
    attempts: BigInt(deliveries.attempts),
    failedAttempts: BigInt(deliveries.failedAttempts),
    delivered: BigInt(deliveries.delivered),
    failed: BigInt(deliveries.failed),
    canceled: BigInt(deliveries.canceled),
    deliveryP95Ms: latencyQuantile(deliveries.latencies, 0.95),
  };
}

/** Converts the current month to rms.alerts.v1.MonthUsage. */
export function toMonthMessage(nowMs: number, month: RequestSums | undefined) {
  return {
    startTime: timestampFromMs(startOf('month', nowMs)),
    endTime: timestampFromMs(startOf('month', nowMs, 1)),
    used: BigInt(month?.admitted ?? 0),
    ...(month ? { quota: BigInt(month.monthlyQuota) } : {}),
  };
}
