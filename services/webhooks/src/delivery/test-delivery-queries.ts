import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/** An ended test delivery. */
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

/** Reads a test delivery's body; empty if the delivery does not exist. */
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
