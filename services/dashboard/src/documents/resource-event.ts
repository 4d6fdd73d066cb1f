import { type Delivery, deliveryStatuses, type Event, eventDocument } from '@rms/api';
import { timeOf } from '@rms/api/times';
import type { EventOfResource } from '@rms/proto/rms/webhooks/v1/events_service_pb';

/** An event of the API, with its cause and its deliveries. */
export interface ResourceEventDocument extends Omit<Event, 'created_at'> {
  readonly created_at: string | null;
  /** Version of the resource after the change. */
  readonly version: number;
  readonly request_id: string;
  /** "key:key_…" or "user:usr_…"; null if it is unknown. */
  readonly actor: string | null;
  readonly deliveries: readonly (Pick<Delivery, 'id' | 'webhook_id' | 'status' | 'attempt_count'> & {
    readonly last_attempt: Pick<NonNullable<Delivery['last_attempt']>, 'status' | 'error'> | null;
  })[];
  readonly has_more_deliveries: boolean;
}

export function resourceEventDocument(event: EventOfResource): ResourceEventDocument {
  return {
    ...eventDocument(event),
    created_at: timeOf(event.createTime),
    version: Number(event.sequence),
    request_id: event.requestId,
    actor: event.actor || null,
    deliveries: event.deliveries.map((delivery) => ({
      id: delivery.id,
      webhook_id: delivery.webhookId,
      status: deliveryStatuses.toName(delivery.status) ?? 'pending',
      attempt_count: delivery.attemptCount,
      last_attempt:
        delivery.attemptCount === 0 ? null : { status: delivery.statusCode || null, error: delivery.error || null },
    })),
    has_more_deliveries: event.hasMoreDeliveries,
  };
}
