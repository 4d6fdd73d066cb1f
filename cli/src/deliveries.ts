import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ListDeliveriesRequestSchema } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames } from '@rms/rpc';
import { attemptDocument } from './attempts.ts';
import type { Services } from './connect.ts';
import { environmentName, time } from './documents.ts';
import { takePages } from './pages.ts';

export const deliveryStatuses = enumNames(DeliveryStatus);
export type DeliveryStatusName = (typeof deliveryStatuses.names)[number];
/** Of deliveries that have ended: these can be replayed. */
export const endedStatusNames: readonly DeliveryStatusName[] = ['delivered', 'failed', 'skipped'];

/** The deliveries that match, newest first, page after page; `more`: there are others beyond the limit. */
export function listDeliveries(
  { deliveries }: Services,
  filter: MessageInitShape<typeof ListDeliveriesRequestSchema>,
  limit: number,
): Promise<{ found: Delivery[]; more: boolean }> {
  return takePages(limit, async (page) => {
    const { deliveries: items, nextPageToken } = await deliveries.listDeliveries({ ...filter, ...page });
    return { items, nextPageToken };
  });
}

/** A delivery without its attempts. */
export function deliveryHeadDocument(delivery: Delivery) {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    webhook_id: delivery.webhookId,
    status: deliveryStatuses.toName(delivery.status) ?? '',
    environment: environmentName(delivery.environment),
    resource_id: delivery.resourceId,
    request_id: delivery.requestId,
    origin: delivery.origin,
    created_at: time(delivery.createTime),
    next_attempt_at: time(delivery.nextAttemptTime),
  };
}

/** A delivery with its attempts in short, as lists have it. */
export function deliveryDocument(delivery: Delivery) {
  return { ...deliveryHeadDocument(delivery), attempts: delivery.attempts.map(attemptDocument) };
}
