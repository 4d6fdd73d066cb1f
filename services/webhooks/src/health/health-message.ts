import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { latencyQuantile } from '@rms/usage';
import { pauseAfterMs } from '../delivery/circuit.ts';
import { errorClasses } from './error-class.ts';
import type { CountedWindow, WebhookHealth } from './health-queries.ts';

/** As rms.webhooks.v1.WebhookHealth. */
export function toHealthMessage(health: WebhookHealth, nowMs: number) {
  const { id, failingSince, circuitOpenSince, underWay, windows } = health;
  return {
    webhookId: id,
    ...(failingSince ? { failingSince: timestampFromDate(failingSince) } : {}),
    ...(circuitOpenSince ? { openCircuit: toCircuitMessage(circuitOpenSince, health, nowMs) } : {}),
    underWay,
    windows: windows.map(toWindowMessage),
  };
}

/** A probe is a delivery that is due: without one the circuit stays as it is. Half a pause is the average until the next. */
function toCircuitMessage(openSince: Date, { nextDueAt }: WebhookHealth, nowMs: number) {
  const openTime = timestampFromDate(openSince);
  if (nextDueAt === null) return { openTime };
  const pauseMs = pauseAfterMs(nowMs - openSince.getTime());
  return { openTime, nextProbeTime: timestampFromMs(Math.max(Math.round(nowMs + pauseMs / 2), nextDueAt.getTime())) };
}

function toWindowMessage({ startMs, delivered, retried, failed, errors, latencies }: CountedWindow) {
  const counted = errors.map((count, place) => ({ class: errorClasses[place] ?? 'connection', count: BigInt(count) }));
  return {
    startTime: timestampFromMs(startMs),
    delivered,
    retried,
    failed,
    p50Ms: latencyQuantile(latencies, 0.5),
    p95Ms: latencyQuantile(latencies, 0.95),
    errors: counted.filter(({ count }) => count > 0n).sort((a, b) => Number(b.count - a.count)),
  };
}
