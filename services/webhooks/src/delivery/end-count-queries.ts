import type { Tenant } from '@rms/base/tenant';
import type { EndReason } from '@rms/base/webhook-events';
import type { Queryable } from '@rms/postgres/db';

/** A number of deliveries of a webhook that ended without an attempt. */
export interface EndCount extends Tenant {
  readonly webhookId: string;
  /** Empty: stored by the previous release. */
  readonly eventType: string;
  readonly reason: EndReason;
  readonly deliveries: number;
}

/** Takes up to `limit` counts that an `endStatement` has stored. Each count is returned to one instance. */
export async function takeEndCounts(db: Queryable, limit: number): Promise<EndCount[]> {
  const { rows } = await db.query<EndCount>({
    name: 'take-end-counts',
    text: `
      delete from webhooks.end_counts as c
       where c.ctid = any(array(select ctid from webhooks.end_counts
                                 order by workspace_id, environment, id limit $1 for update skip locked))
      returning c.workspace_id as "workspaceId", c.environment, c.webhook_id as "webhookId", c.event_type as "eventType", c.reason,
                c.deliveries::float8 as deliveries`,
    values: [limit],
  });
  return rows;
}
