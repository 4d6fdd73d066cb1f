import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toDeliveryMessage } from '../log/delivery-message.ts';
import { readDeliveries, redeliver } from '../log/log-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { found, type HandlerParts, translated } from './parts.ts';

export function redeliverDelivery(parts: HandlerParts): Handlers<typeof DeliveriesService>['redeliverDelivery'] {
  const { pool, engine } = parts;
  return (request) =>
    translated(async () => {
      const scope = toScope(request);
      await redeliver(pool, scope, request.id);
      engine.wake();
      const [delivery] = await readDeliveries(pool, scope, { id: request.id }, 1);
      return { delivery: toDeliveryMessage(found(delivery, 'delivery', request.id)) };
    });
}
