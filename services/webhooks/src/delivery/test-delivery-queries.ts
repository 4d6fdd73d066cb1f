import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/** A test delivery that has ended. */
export interface TestDelivery extends Tenant {
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
export async function insertTestDelivery(db: Queryable, test: TestDelivery): Promise<string> {
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

/** Reads the body of a test delivery; empty if the delivery does not exist. */
export async function readTestBody(
  db: Queryable,
  { workspaceId, environment, id }: Tenant & { readonly id: string },
): Promise<Buffer> {
  const { rows } = await db.query<{ body: Buffer | null }>(
    'select body from webhooks.delivery_log where workspace_id = $1 and environment = $2 and id = $3',
    [workspaceId, environment, id],
  );
  return rows[0]?.body ?? Buffer.alloc(0);
}
