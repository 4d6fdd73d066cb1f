import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toDeliveryMessage } from '../log/delivery-message.ts';
import { readDeliveries, readRedeliverable, redeliver } from '../log/log-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { checkCallable, found, type HandlerParts, translated } from './parts.ts';

/** Tries again now, if there is something to send and someone to send it to. */
export function redeliverDelivery(parts: HandlerParts): Handlers<typeof DeliveriesService>['redeliverDelivery'] {
  const { pool, engine } = parts;
  return (request) =>
    translated(async () => {
      const scope = toScope(request);
      const { webhookStatus, hasBody } = found(
        await readRedeliverable(pool, scope, request.id),
        'delivery',
        request.id,
      );
      checkCallable(webhookStatus);
      if (!hasBody) throw new RmsError('conflict', { message: 'The body of its event is erased.' });
      await inTransaction(pool, (tx) => redeliver(tx, scope, request.id));
      engine.wake();
      const { deliveries } = await readDeliveries(pool, scope, { id: request.id }, 1);
      return { delivery: toDeliveryMessage(found(deliveries[0], 'delivery', request.id)) };
    });
}
