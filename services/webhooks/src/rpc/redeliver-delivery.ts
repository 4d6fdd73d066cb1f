import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import {
  type DeliveriesService,
  RedeliverDeliveryResponseSchema,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryEntry } from '../delivery/delivery-audit.ts';
import { toDeliveryMessage } from '../delivery/delivery-message.ts';
import { readChanged } from '../delivery/log-queries.ts';
import { maxRedeliveries, type Redeliverable, readRedeliverable, redeliver } from '../delivery/redeliver-queries.ts';
import { checkCallable, found, type HandlerParts, idempotentRequest } from './parts.ts';

const exhausted = `The delivery has been sent again ${maxRedeliveries} times, which is the limit. Its event is in the event feed.`;
const test = 'A test delivery cannot be redelivered. Send another test event.';
const erased = 'The body of the event has been erased with its resource, so it cannot be redelivered.';

/**
 * Retries a delivery immediately, if its webhook is active and the event has its body. For a delivery that is already
 * due or in flight, see {@link redeliver}.
 */
export function redeliverDelivery(parts: HandlerParts): Handlers<typeof DeliveriesService>['redeliverDelivery'] {
  const { idempotency, engine } = parts;
  return async (request, context) => {
    const { id } = request;
    const scope = toScope(request);
    const once = idempotentRequest('redeliver delivery', request);
    const { response, replayed } = await idempotency.once(once, RedeliverDeliveryResponseSchema, async (tx) => {
      checkRedeliverable(found(await readRedeliverable(tx, scope, id), 'delivery', id));
      await redeliver(tx, scope, id);
      const delivery = found(await readChanged(tx, scope, id), 'delivery', id);
      await appendAudit(tx, context, [deliveryEntry(delivery, { action: 'delivery.redelivered' })]);
      return { delivery: toDeliveryMessage(delivery) };
    });
    engine.wake();
    return { ...response, replayed };
  };
}

/** Throws `conflict` if the delivery cannot be sent again. */
function checkRedeliverable({ webhookStatus, isTest, hasBody, redeliveries }: Redeliverable): void {
  if (isTest) throw new RmsError('conflict', { message: test });
  checkCallable(webhookStatus);
  if (!hasBody) throw new RmsError('conflict', { message: erased });
  if (redeliveries >= maxRedeliveries) throw new RmsError('conflict', { message: exhausted });
}
