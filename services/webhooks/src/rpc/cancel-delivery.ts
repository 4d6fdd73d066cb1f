import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { CancelDeliveryResponseSchema, type DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { cancelQueued, lockQueued } from '../delivery/cancel-queries.ts';
import { deliveryChanges, deliveryEntry } from '../delivery/delivery-audit.ts';
import { toDeliveryMessage } from '../delivery/delivery-message.ts';
import { readChanged } from '../delivery/log-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';

/** Ends a pending or retrying delivery. Throws `conflict` if it has ended. */
export function cancelDelivery(parts: HandlerParts): Handlers<typeof DeliveriesService>['cancelDelivery'] {
  const { idempotency, engine } = parts;
  return async (request, context) => {
    const { id } = request;
    const scope = toScope(request);
    const once = idempotentRequest('cancel delivery', request);
    const { response, replayed } = await idempotency.once(once, CancelDeliveryResponseSchema, async (tx) => {
      await lockQueued(tx, scope, id);
      const before = found(await readChanged(tx, scope, id), 'delivery', id);
      if (!(await cancelQueued(tx, scope, id)))
        throw new RmsError('conflict', {
          message: `The delivery has already ended with status \`${before.status}\`.`,
        });
      const delivery = found(await readChanged(tx, scope, id), 'delivery', id);
      const changes = deliveryChanges(before, delivery);
      await appendAudit(tx, context, [deliveryEntry(delivery, { action: 'delivery.canceled', changes })]);
      return { delivery: toDeliveryMessage(delivery) };
    });
    // The next delivery of its lane may have become due.
    engine.wake();
    return { ...response, replayed };
  };
}
