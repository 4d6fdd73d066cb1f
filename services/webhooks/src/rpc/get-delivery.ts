import { traceIdOf } from '@rms/async/tracing';
import { toScope } from '@rms/base/tenant';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toDeliveryMessage } from '../delivery/delivery-message.ts';
import { readDelivery } from '../delivery/log-queries.ts';
import { readTestBody } from '../delivery/test-delivery-queries.ts';
import { readEvent } from '../event/feed-queries.ts';
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
