import type { GetDeliveryResponse } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { attemptDocument } from '../attempt/attempt.ts';
import { timeOf } from '../time-schemas.ts';
import { delayReasons, deliveryStatuses } from './schema.ts';

/** Maximum total size of the copies of the event in the attempts of a delivery, in bytes. */
const maxCopiedBytes = 1024 * 1024;

/** Returns the API representation of a delivery. */
export function deliveryJson(delivery: Delivery): string {
  return JSON.stringify(documentOf(delivery));
}

/** Returns the API representation of a delivery with all stored attempts. */
export function fullDeliveryJson({ delivery, requestBody }: GetDeliveryResponse): string {
  const found = present(delivery);
  const body = requestBody.length === 0 ? null : Buffer.from(requestBody).toString('utf8');
  const copies = Math.max(1, Math.floor(maxCopiedBytes / Math.max(1, requestBody.length)));
  const attempts = found.attempts.map((attempt, i) =>
    attemptDocument(attempt, { url: attempt.url, body: i < copies ? body : null }),
  );
  return JSON.stringify({ ...documentOf(found), attempts });
}

/** Returns the delivery. Throws if the webhooks service returned none. */
export function present(delivery: Delivery | undefined): Delivery {
  if (!delivery) throw new Error('the webhooks service returned no delivery');
  return delivery;
}

/** Returns the API representation of a delivery without its attempts, before serialization. */
export function documentOf(delivery: Delivery) {
  const { lastAttempt: last } = delivery;
  return {
    id: delivery.id,
    type: 'delivery',
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    resource_id: delivery.resourceId,
    request_id: delivery.requestId,
    test: delivery.origin === 'test',
    status: deliveryStatuses.toName(delivery.status),
    attempt_count: delivery.attemptCount,
    next_attempt_at: timeOf(delivery.nextAttemptTime),
    delay_reason: delayReasons.toName(delivery.delayReason) ?? null,
    last_attempt: last
      ? {
          started_at: timeOf(last.startTime),
          status: last.statusCode || null,
          error: last.error || null,
          duration_ms: last.durationMs,
        }
      : null,
    end_reason: delivery.endReason || null,
    created_at: timeOf(delivery.createTime),
    ended_at: timeOf(delivery.endTime),
  };
}
