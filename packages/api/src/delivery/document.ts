import type { EndReason, EventType } from '@rms/base/webhook-events';
import type { GetDeliveryResponse } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Delivery as Message } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { attemptDocument, lastAttemptOf } from '../attempt/document.ts';
import { presentTimeOf, timeOf } from '../times.ts';
import type { Delivery, FullDelivery } from './schema.ts';
import { delayReasons, deliveryStatuses } from './status.ts';

/** Maximum total size of the event's copies in a delivery, in bytes; at least two copies. */
const maxCopiedBytes = 1024 * 1024;

/** Returns the API representation of a delivery, without its attempts. */
export function deliveryDocument(delivery: Message | undefined): Delivery {
  if (!delivery) throw new Error('the webhooks service returned no delivery');
  const { lastAttempt } = delivery;
  return {
    id: delivery.id,
    type: 'delivery',
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    event_type: delivery.eventType as EventType,
    resource_id: delivery.resourceId,
    request_id: delivery.requestId,
    test: delivery.origin === 'test',
    origin: delivery.origin,
    status: deliveryStatuses.toName(delivery.status) ?? 'pending',
    attempt_count: delivery.attemptCount,
    next_attempt_at: timeOf(delivery.nextAttemptTime),
    delay_reason: delayReasons.toName(delivery.delayReason) ?? null,
    last_attempt: lastAttempt ? lastAttemptOf(lastAttempt) : null,
    end_reason: (delivery.endReason as EndReason) || null,
    created_at: presentTimeOf(delivery.createTime),
    ended_at: timeOf(delivery.endTime),
  };
}

/** Returns the API representation of a delivery with all stored attempts. */
export function fullDeliveryDocument({ delivery, requestBody, traceId }: GetDeliveryResponse): FullDelivery {
  const body = requestBody.length === 0 ? null : Buffer.from(requestBody).toString('utf8');
  // One copy is `request_body`.
  const copies = Math.max(1, Math.floor(maxCopiedBytes / Math.max(1, requestBody.length)) - 1);
  return {
    ...deliveryDocument(delivery),
    trace_id: traceId || null,
    request_body: body,
    attempts: (delivery?.attempts ?? []).map((attempt, i) => attemptDocument(attempt, i < copies ? body : null)),
  };
}
