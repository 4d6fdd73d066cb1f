import { type Delivery, deliveryStatuses } from '@rms/api';
import type { EventOfResource } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { timeOf } from './text.ts';

/** Event of a resource, with its deliveries. */
export interface ResourceEventDocument {
  readonly id: string;
  readonly type: string;
  /** Version of the resource after the change. */
  readonly version: number;
  /** Position in the event feed, as used by `GET /v1/events?after=`. */
  readonly sequence: number;
  readonly request_id: string;
  /** "key:key_…" or "user:usr_…"; null if it is unknown. */
  readonly actor: string | null;
  readonly created_at: string | null;
  /** Event JSON as delivered. null if it was erased. */
  readonly body: string | null;
  readonly deliveries: readonly {
    readonly id: string;
    readonly webhook_id: string;
    readonly status: Delivery['status'];
    readonly attempt_count: number;
    readonly last_attempt: { readonly status: number | null; readonly error: string | null } | null;
  }[];
  readonly has_more_deliveries: boolean;
}

export function resourceEventDocument(event: EventOfResource): ResourceEventDocument {
  return {
    id: event.id,
    type: event.type,
    version: Number(event.sequence),
    sequence: Number(event.position),
    request_id: event.requestId,
    actor: event.actor || null,
    created_at: timeOf(event.createTime),
    body: event.body.length > 0 ? Buffer.from(event.body).toString('utf8') : null,
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
