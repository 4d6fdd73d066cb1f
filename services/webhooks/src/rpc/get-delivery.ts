import { traceIdOf } from '@rms/async/tracing';
import { type Tenant, toScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toDeliveryMessage } from '../delivery/delivery-message.ts';
import { readDelivery } from '../delivery/log-queries.ts';
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

/** Reads a test delivery's body; empty if the delivery does not exist. */
async function readTestBody(
  db: Queryable,
  { workspaceId, environment, id }: Tenant & { readonly id: string },
): Promise<Buffer> {
  const { rows } = await db.query<{ body: Buffer | null }>(
    'select body from webhooks.delivery_log where workspace_id = $1 and environment = $2 and id = $3',
    [workspaceId, environment, id],
  );
  return rows[0]?.body ?? Buffer.alloc(0);
}
