import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { traceIdOf } from '@rms/tracing';
import { readEvent } from '../feed/feed-queries.ts';
import { toDeliveryMessage } from '../log/delivery-message.ts';
import { readDeliveries } from '../log/log-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { found, type HandlerParts, translated } from './parts.ts';

export function getDelivery({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['getDelivery'] {
  return (request) =>
    translated(async () => {
      const { deliveries } = await readDeliveries(pool, toScope(request), { id: request.id }, 1);
      const delivery = found(deliveries[0], 'delivery', request.id);
      const event = await readEvent(pool, delivery, delivery.eventId);
      return {
        delivery: toDeliveryMessage(delivery),
        requestBody: event?.body ?? Buffer.alloc(0),
        traceId: traceIdOf(event?.traceparent ?? ''),
      };
    });
}
