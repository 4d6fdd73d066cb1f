import { RmsError } from '@rms/errors';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toAttemptMessage, toDeliveryMessage } from '../log/delivery-message.ts';
import { readTail, type TailedDelivery } from '../log/tail-queries.ts';
import { toTenant } from '../subscription/webhook-message.ts';
import { type HandlerParts, translated } from './parts.ts';

const mostKnown = 200;

export function tailDeliveries({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['tailDeliveries'] {
  return (request) =>
    translated(async () => {
      const { after, knownIds } = request;
      if (knownIds.length > mostKnown) {
        const details = [{ field: 'known_ids', message: `must be ${mostKnown} at most` }];
        throw new RmsError('invalid_request', { details });
      }
      const tail = await readTail(pool, toTenant(request), { after, knownIds: [...new Set(knownIds)] });
      return {
        ...tail,
        deliveries: tail.deliveries.map(toTailedMessage),
        known: tail.known.map(toTailedMessage),
      };
    });
}

function toTailedMessage({ lastAttempt, attemptCount, position, ...delivery }: TailedDelivery) {
  return {
    delivery: toDeliveryMessage({ ...delivery, attempts: [] }),
    ...(lastAttempt ? { lastAttempt: toAttemptMessage(lastAttempt) } : {}),
    attemptCount,
    position,
  };
}
