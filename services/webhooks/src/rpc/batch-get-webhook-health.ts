import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { latencyQuantile } from '@rms/reporting/usage';
import { type Handlers, timestampFromMs } from '@rms/rpc';
import { toDelayReasonMessage } from '../delivery/delivery-message.ts';
import { errorClasses } from '../engine/attempt/error-class.ts';
import { type CountedWindow, readHealth, type WebhookHealth } from '../health/health-queries.ts';
import type { HandlerParts } from './parts.ts';

/** The page size limit of ListWebhooks. */
const maxIds = 100;

export function batchGetWebhookHealth({
  pool,
  time,
}: HandlerParts): Handlers<typeof WebhooksService>['batchGetWebhookHealth'] {
  return async (request) => {
    const { ids } = request;
    if (ids.length < 1 || ids.length > maxIds) {
      throw new RmsError('invalid_request', { details: [{ field: 'ids', message: `must be 1 to ${maxIds}` }] });
    }
    const nowMs = await time.fresh();
    const healths = await readHealth(pool, toScope(request), [...new Set(ids)], nowMs);
    return { healths: healths.map(toHealthMessage) };
  };
}

/**
 * Converts a webhook's health to rms.webhooks.v1.WebhookHealth. A probe of an open circuit is the next attempt of
 * the webhook.
 */
function toHealthMessage(health: WebhookHealth) {
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
