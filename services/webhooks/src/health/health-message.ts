import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { latencyQuantile } from '@rms/reporting/usage';
import { timestampFromMs } from '@rms/rpc';
import { toDelayReasonMessage } from '../delivery/delivery-message.ts';
import { errorClasses } from './error-class.ts';
import type { CountedWindow, WebhookHealth } from './health-queries.ts';

/**
 * Converts the health of a webhook to rms.webhooks.v1.WebhookHealth. A probe of an open circuit is the next attempt of
 * the webhook.
 */
export function toHealthMessage(health: WebhookHealth) {
  const { id, failingSince, circuitOpenSince, unfinished, nextAttemptAt, delayReason, oldestAt, windows } = health;
  const nextAttemptTime = nextAttemptAt ? timestampFromDate(nextAttemptAt) : undefined;
  const openCircuit = circuitOpenSince && {
    openTime: timestampFromDate(circuitOpenSince),
    ...(nextAttemptTime ? { nextProbeTime: nextAttemptTime } : {}),
  };
  return {
    webhookId: id,
    ...(failingSince ? { failingSince: timestampFromDate(failingSince) } : {}),
    ...(openCircuit ? { openCircuit } : {}),
    ...(nextAttemptTime ? { nextAttemptTime } : {}),
    delayReason: toDelayReasonMessage(delayReason),
    ...(oldestAt ? { oldestPendingTime: timestampFromDate(oldestAt) } : {}),
    unfinished,
    windows: windows.map(toWindowMessage),
  };
}

function toWindowMessage({ startMs, errors, latencies, ...counts }: CountedWindow) {
  const counted = errors.map((count, place) => ({ class: errorClasses[place] ?? 'connection', count: BigInt(count) }));
  return {
    startTime: timestampFromMs(startMs),
    ...counts,
    p50Ms: latencyQuantile(latencies, 0.5),
    p95Ms: latencyQuantile(latencies, 0.95),
    errors: counted.filter(({ count }) => count > 0n).sort((a, b) => Number(b.count - a.count)),
  };
}
