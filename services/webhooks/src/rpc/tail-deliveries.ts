import { RmsError } from '@rms/base/errors';
import { toTenant } from '@rms/base/tenant';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toAttemptMessage, toDeliveryMessage } from '../delivery/delivery-message.ts';
import { readTail, type TailedDelivery } from '../delivery/tail-queries.ts';
import type { HandlerParts } from './parts.ts';

const maxKnown = 200;

export function tailDeliveries({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['tailDeliveries'] {
  return async (request) => {
    const { after, knownIds } = request;
    if (knownIds.length > maxKnown) {
      const details = [{ field: 'known_ids', message: `must have at most ${maxKnown} items` }];
      throw new RmsError('invalid_request', { details });
    }
    const tail = await readTail(pool, toTenant(request), { after, knownIds: [...new Set(knownIds)] });
    return {
      ...tail,
      deliveries: tail.deliveries.map(toTailedMessage),
      known: tail.known.map(toTailedMessage),
    };
  };
}

function toTailedMessage({ position, ...tailed }: TailedDelivery) {
  const { lastAttempt, attemptCount } = tailed;
  return {
    delivery: toDeliveryMessage({ ...tailed, attempts: [] }),
    ...(lastAttempt ? { lastAttempt: toAttemptMessage(lastAttempt) } : {}),
    attemptCount,
    position,
  };
}
