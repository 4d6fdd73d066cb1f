import { RmsError } from '@rms/base/errors';
import { type TenantScope, toScope } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import {
  type DeliveriesService,
  RedeliverDeliveryResponseSchema,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { deliveryEntry, toDeliveryMessage } from '../delivery/delivery-message.ts';
import { isTest } from '../delivery/log-filter.ts';
import { readChanged } from '../delivery/log-queries.ts';
import { isInFlight, makeDueColumns, maxRedeliveries, requeue } from '../delivery/redeliver-queries.ts';
import type { WebhookStatus } from '../webhook/webhook.ts';
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

/** What decides whether a delivery can be redelivered. */
interface Redeliverable {
  /** Null if the webhook is deleted. */
  readonly webhookStatus: WebhookStatus | null;
  readonly isTest: boolean;
  /** Whether the event has its body. */
  readonly hasBody: boolean;
  /** How often the delivery was sent again. */
  readonly redeliveries: number;
}

/** Throws `conflict` if the delivery cannot be sent again. */
function checkRedeliverable({ webhookStatus, isTest, hasBody, redeliveries }: Redeliverable): void {
  if (isTest) throw new RmsError('conflict', { message: test });
  checkCallable(webhookStatus);
  if (!hasBody) throw new RmsError('conflict', { message: erased });
  if (redeliveries >= maxRedeliveries) throw new RmsError('conflict', { message: exhausted });
}

/**
 * Reads the fields that decide whether a delivery can be redelivered; undefined if it does not exist. The event is read
 * by its own statement, so that PostgreSQL plans one daily partition of the events instead of all.
 */
async function readRedeliverable(db: Queryable, scope: TenantScope, id: string): Promise<Redeliverable | undefined> {
  const columns = `workspace_id, environment, webhook_id, event_id, ${isTest} as "isTest", redeliveries`;
  const { rows } = await db.query<{
    environment: string;
    webhook_id: string;
    event_id: string;
    isTest: boolean;
    redeliveries: number;
  }>(
    `select ${columns} from webhooks.deliveries as d where workspace_id = $1 and environment = any($2) and id = $3
      union all
     select ${columns} from webhooks.delivery_log as d where workspace_id = $1 and environment = any($2) and id = $3`,
    [scope.workspaceId, scope.environments, id],
  );
  const [delivery] = rows;
  if (!delivery) return undefined;
  const { isTest: test, redeliveries } = delivery;
  const parents = await db.query<Pick<Redeliverable, 'webhookStatus' | 'hasBody'>>(
    `select (select status from webhooks.webhooks where workspace_id = $1 and environment = $2 and id = $3)
              as "webhookStatus",
            exists (select from webhooks.events
                     where workspace_id = $1 and environment = $2 and id = $4 and body is not null) as "hasBody"`,
    [scope.workspaceId, delivery.environment, delivery.webhook_id, delivery.event_id],
  );
  return { webhookStatus: null, hasBody: false, ...parents.rows[0], isTest: test, redeliveries };
}

/**
 * Makes a delivery due immediately, with a full set of retries. If an attempt is in flight, the delivery becomes due
 * when that attempt fails. Changes nothing if the delivery is already due, or if a redelivery is already requested.
 */
export async function redeliver(tx: Queryable, scope: TenantScope, id: string): Promise<void> {
  const values = [scope.workspaceId, scope.environments, id];
  const { rowCount } = await tx.query(
    `update webhooks.deliveries
        set ${makeDueColumns},
            origin = 'redelivery', ordered = ordered and ${isInFlight}
      where workspace_id = $1 and environment = any($2) and id = $3 and redeliveries < ${maxRedeliveries}
        and not redelivery_requested and (due_at is null or due_at > now())`,
    values,
  );
  if (rowCount) return;
  await tx.query(
    `with again as (
       select workspace_id, environment, id from webhooks.delivery_log
        where workspace_id = $1 and environment = any($2) and id = $3 and redeliveries < ${maxRedeliveries}
     ),${requeue("'redelivery'")}
     select id from queued`,
    values,
  );
}
