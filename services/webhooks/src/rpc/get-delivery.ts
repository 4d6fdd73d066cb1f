import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toScope } from '@rms/tenant';
import { traceIdOf } from '@rms/tracing';
import { readEvent } from '../feed/feed-queries.ts';
import { toDeliveryMessage } from '../log/delivery-message.ts';
import { readDelivery } from '../log/log-queries.ts';
import { readTestBody } from '../log/test-delivery-queries.ts';
import { found, type HandlerParts } from './parts.ts';

export function getDelivery({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['getDelivery'] {
  return async (request) => {
    const delivery = found(await readDelivery(pool, toScope(request), request.id, 'all'), 'delivery', request.id);
    if (delivery.origin === 'test') {
      return { delivery: toDeliveryMessage(delivery), requestBody: await readTestBody(pool, delivery) };
    }
    const event = await readEvent(pool, delivery, delivery.eventId);
    return {
      delivery: toDeliveryMessage(delivery),
      requestBody: event?.body ?? Buffer.alloc(0),
      traceId: traceIdOf(event?.traceparent ?? ''),
    };
  };
}
