import type { TenantScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { endQueued, endStatement } from '../engine/record/end-queries.ts';
import { isInFlight } from './redeliver-queries.ts';

/** Locks a queued delivery until the transaction ends, so that its status stays as it is read next. */
export async function lockQueued(tx: Queryable, { workspaceId, environments }: TenantScope, id: string): Promise<void> {
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
