import { RmsError } from '@rms/base/errors';
import { type TenantScope, toScope } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { CancelDeliveryResponseSchema, type DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryChanges, deliveryEntry, toDeliveryMessage } from '../delivery/delivery-message.ts';
import { readChanged } from '../delivery/log-queries.ts';
import { isInFlight } from '../delivery/redeliver-queries.ts';
import { endQueued, endStatement } from '../engine/record/end-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';

/** Ends a pending or retrying delivery. Throws `conflict` if it ended. */
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

/** Locks a queued delivery until the transaction ends, so that its status stays as it is read next. */
async function lockQueued(tx: Queryable, { workspaceId, environments }: TenantScope, id: string): Promise<void> {
  await tx.query(
    'select from webhooks.deliveries where workspace_id = $1 and environment = any($2) and id = $3 for update',
    [workspaceId, environments, id],
  );
}

/**
 * Moves a queued delivery to the log as canceled. Returns false if the delivery is not queued. If an attempt is in
 * flight, its result is recorded like one with an outdated lease (see `recordAttempts`). The next delivery of the lane
 * then becomes due when the lease expires, so that two deliveries of a resource are never sent concurrently.
 */
export async function cancelQueued(
  tx: Queryable,
  { workspaceId, environments }: TenantScope,
  id: string,
): Promise<boolean> {
  const count = await endQueued(tx, {
    text: endStatement({
      picked: `
        select workspace_id, environment, id from webhooks.deliveries
         where workspace_id = $1 and environment = any($2) and id = $3`,
      reason: `'canceled'`,
      nextDueAt: `case when ${isInFlight} then due_at else now() end`,
    }),
    values: [workspaceId, environments, id],
  });
  return count === 1;
}
