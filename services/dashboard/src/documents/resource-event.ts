import type { EventOfResource } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { type DeliveryStatusName, deliveryStatusNameOf } from './delivery.ts';
import { timeOf } from './text.ts';

/** What has happened to a resource, and what webhooks were told of it. */
export interface ResourceEventDocument {
  readonly id: string;
  readonly type: string;
  /** Of its resource; counts from 1. */
  readonly sequence: number;
  /** In the feed: what `GET /v1/events?after=` counts by. */
  readonly position: number;
  readonly request_id: string;
  readonly created_at: string | null;
  /** JSON as it is delivered; null: it was erased. */
  readonly body: string | null;
  readonly deliveries: readonly {
    readonly id: string;
    readonly webhook_id: string;
    readonly status: DeliveryStatusName;
    readonly attempts: number;
    readonly status_code: number | null;
    readonly error: string | null;
  }[];
  readonly has_more_deliveries: boolean;
}

export function resourceEventDocument(event: EventOfResource): ResourceEventDocument {
  return {
    id: event.id,
    type: event.type,
    sequence: Number(event.sequence),
    position: Number(event.position),
    request_id: event.requestId,
    created_at: timeOf(event.createTime),
    body: event.body.length > 0 ? Buffer.from(event.body).toString('utf8') : null,
    deliveries: event.deliveries.map((delivery) => ({
      id: delivery.id,
      webhook_id: delivery.webhookId,
      status: deliveryStatusNameOf(delivery.status),
      attempts: delivery.attemptCount,
      status_code: delivery.statusCode || null,
      error: delivery.error || null,
    })),
    has_more_deliveries: event.hasMoreDeliveries,
  };
}
