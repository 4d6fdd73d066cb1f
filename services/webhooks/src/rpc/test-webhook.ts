import { RmsError, tryAgainIn } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { type Tenant, toScope, toTenant } from '@rms/base/tenant';
import { type EventType, eventTypes, receivedTypes, sampleEvent } from '@rms/base/webhook-events';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { TestWebhookResponseSchema, type WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { toAttemptMessage } from '../delivery/delivery-message.ts';
import { send } from '../engine/attempt.ts';
import { toAttemptJson, toLoggedAttempt } from '../engine/record/logged-attempt.ts';
import type { Webhook } from '../webhook/webhook.ts';
import { webhookEntry } from '../webhook/webhook-message.ts';
import { findWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts } from './parts.ts';

/**
 * Test deliveries per minute, per workspace and environment. They are not subject to the delivery engine's limits.
 */
const testsPerMinute = 10;
const testWindowSeconds = 60;

/**
 * Sends one sample event immediately, regardless of the webhook's status. It is not retried. The delivery log and the
 * audit log have an entry for it. The delivery engine does not know it, so it affects no counter, health, circuit or
 * alert. Throws `rate_limit_exceeded` above {@link testsPerMinute}.
 */
export function testWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['testWebhook'] {
  const { pool, idempotency, agents, secrets, time } = parts;
  return async (request, context) => {
    // The time in the IDs determines the log's partition.
    const atMs = await time.fresh();
    const idempotent = {
      tenant: () => toTenant(request),
      operation: 'test webhook',
      key: request.idempotencyKey,
      content: [request.id, request.eventType],
    };
    const { response, replayed } = await idempotency.onceAround(idempotent, TestWebhookResponseSchema, {
      async prepare(tx) {
        const webhook = found(await findWebhook(tx, toScope(request), request.id), 'webhook', request.id);
        const eventType = typeToSend(webhook, request.eventType);
        if (!(await countTest(tx, webhook, testsPerMinute))) {
          throw new RmsError('rate_limit_exceeded', {
            message: `A workspace can test its webhooks ${testsPerMinute} times per minute in each environment. ${tryAgainIn(testWindowSeconds)}`,
            retryAfterSeconds: testWindowSeconds,
          });
        }
        await appendAudit(tx, context, [
          webhookEntry(webhook, { action: 'webhook.tested', details: { event_type: eventType } }),
        ]);
        return { webhook, eventType };
      },
      async act({ webhook, eventType }) {
        const { url, workspaceId, environment, id: webhookId } = webhook;
        const ref = { workspaceId, environment, webhookId };
        const ids = { eventId: newId('evt', atMs), resourceId: newId('res', atMs) };
        const requestId = context.requestId || newId('req', atMs);
        const createdAt = new Date(atMs);
        const body = JSON.stringify(sampleEvent(eventType, { ...ids, at: createdAt }));
        const outgoing = {
          workspaceId,
          endpoint: webhook,
          eventId: ids.eventId,
          requestId,
          traceparent: '',
          body: Buffer.from(body),
        };
        const result = await send(agents.of(ref, webhook), secrets.open(ref, webhook), outgoing);
        const deliveryId = await insertTestDelivery(pool, {
          ...ref,
          ...ids,
          eventType,
          requestId,
          isDelivered: result.error === '',
          attemptJson: toAttemptJson(result, url),
          body,
          createdAt,
        });
        return {
          attempt: toAttemptMessage({ ...toLoggedAttempt(result), number: 1 }),
          responseBody: result.responseBody.toString('utf8'),
          requestBody: body,
          url,
          deliveryId,
        };
      },
    });
    return { ...response, replayed };
  };
}

/** Returns the requested type, or the first type that the webhook receives. Throws for a type that it does not receive. */
function typeToSend({ events }: Webhook, requested: string): EventType {
  const received = receivedTypes(events);
  const type = requested === '' ? received[0] : received.find((one) => one === requested);
  if (type) return type;
  const message = `must be a type that the webhook receives: ${(received.length > 0 ? received : eventTypes).join(', ')}`;
  throw new RmsError('invalid_request', { details: [{ field: 'event_type', message }] });
}

/**
 * Counts a test delivery. Returns false if the tenant has already made `most` within the current minute, which begins
 * with its first test.
 */
async function countTest(tx: Queryable, { workspaceId, environment }: Tenant, most: number): Promise<boolean> {
  // A concurrent transaction may have begun a little later, so a start shortly after now() belongs to the current
  // minute. A start long after now() means that the database's clock was set back.
  const isCurrent = "c.starts_at between now() - interval '1 minute' and now() + interval '1 minute'";
  const { rowCount } = await tx.query(
    `insert into webhooks.test_counts as c (workspace_id, environment, starts_at, tests) values ($1, $2, now(), 1)
         on conflict (workspace_id, environment) do update
        set tests = case when ${isCurrent} then c.tests + 1 else 1 end,
            starts_at = case when ${isCurrent} then c.starts_at else now() end
      where not (${isCurrent}) or c.tests < $3`,
    [workspaceId, environment, most],
  );
  return rowCount === 1;
}

/** An ended test delivery. */
interface TestDelivery extends Tenant {
  readonly eventId: string;
  readonly eventType: string;
  readonly webhookId: string;
  readonly resourceId: string;
  readonly requestId: string;
  readonly isDelivered: boolean;
  /** See `toAttemptJson`. */
  readonly attemptJson: string;
  readonly body: string;
  readonly createdAt: Date;
}

/** Adds a test delivery to the log. Returns its ID. */
async function insertTestDelivery(db: Queryable, test: TestDelivery): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        request_id, status, end_reason, origin, attempts, attempt_count, last_attempt,
                                        body, created_at)
     select $1, $2, 'dlv_' || substr($3::text, 5, 10) || substr(md5($3::text || '/' || $4::text), 1, 16), $3, $4, $5, $6, $7, $8,
            case when $8 = 'failed' then 'retries_exhausted' end, 'test', added.*, $10, $11
       from webhooks.add_attempt('[]', $9::jsonb) as added
     returning id`,
    [
      test.workspaceId,
      test.environment,
      test.eventId,
      test.webhookId,
      test.eventType,
      test.resourceId,
      test.requestId,
      test.isDelivered ? 'delivered' : 'failed',
      test.attemptJson,
      Buffer.from(test.body),
      test.createdAt,
    ],
  );
  const [row] = rows;
  if (!row) throw new Error('the test delivery was not stored');
  return row.id;
}
