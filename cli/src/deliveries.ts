import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ListDeliveriesRequestSchema } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DelayReason, type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { fromEnvironmentMessage } from '@rms/tenant';
import { attemptDocument } from './attempts.ts';
import { time } from './documents.ts';
import { type Pages, takePages } from './pages.ts';
import type { Services } from './services.ts';

export const deliveryStatuses = enumNames(DeliveryStatus);
export const delayReasons = enumNames(DelayReason);
export type DeliveryStatusName = (typeof deliveryStatuses.names)[number];
type DelayReasonName = (typeof delayReasons.names)[number];

/** Lists the matching deliveries, newest first, across pages. `more` is true if there are others beyond the limit. */
export function listDeliveries(
  { deliveries }: Pick<Services, 'deliveries'>,
  filter: MessageInitShape<typeof ListDeliveriesRequestSchema>,
  limit: number,
): Promise<Pages<Delivery>> {
  return takePages(limit, async (page) => {
    const { deliveries: items, nextPageToken } = await deliveries.listDeliveries({
      ...filter,
      ...page,
      withAttempts: true,
    });
    return { items, nextPageToken };
  });
}

/** Returns a delivery without its attempts. `attempt_count` includes attempts that are no longer stored. */
export function deliveryHeadDocument(delivery: Delivery) {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    webhook_id: delivery.webhookId,
    status: deliveryStatuses.toName(delivery.status) ?? '',
    environment: fromEnvironmentMessage(delivery.environment),
    resource_id: delivery.resourceId,
    request_id: delivery.requestId,
    origin: delivery.origin,
    created_at: time(delivery.createTime),
    next_attempt_at: time(delivery.nextAttemptTime),
    /** Why the delivery waits although it is due; null if it does not. */
    delay_reason: delayReasons.toName(delivery.delayReason) ?? null,
    end_reason: delivery.endReason || null,
    attempt_count: delivery.attemptCount,
  };
}

const delays: Readonly<Record<DelayReasonName, string>> = { rate_limit: 'rate limit', circuit_open: 'open circuit' };

/** Formats the reason of a delay: "rate limit of the webhook". */
export function delayText(reason: DelayReasonName | null): string | null {
  return reason && `${delays[reason]} of the webhook`;
}

/** Formats the status: "pending", "pending (rate limit)" or "failed (webhook_disabled)". */
export function deliveryStatusText({
  status,
  delay_reason: delay,
  end_reason: end,
}: Pick<ReturnType<typeof deliveryHeadDocument>, 'status' | 'delay_reason' | 'end_reason'>): string {
  const reason = delay ? delays[delay] : end;
  return reason && reason !== status ? `${status} (${reason})` : status;
}

/** Returns a delivery with summaries of its stored attempts, for lists. */
export function deliveryDocument(delivery: Delivery) {
  return { ...deliveryHeadDocument(delivery), attempts: delivery.attempts.map(attemptDocument) };
}
