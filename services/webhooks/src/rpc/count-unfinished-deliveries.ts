import { type TenantScope, toScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import type { HandlerParts } from './parts.ts';

export function countUnfinishedDeliveries({
  pool,
}: HandlerParts): Handlers<typeof DeliveriesService>['countUnfinishedDeliveries'] {
  return async (request) => ({ count: await countUnfinished(pool, toScope(request)) });
}

/** Counting stops here, because a backlog can be arbitrarily long. */
export const maxUnfinished = 10_000;

/** Counts deliveries that have not ended, at most {@link maxUnfinished}. Scans one range of the primary key. */
export async function countUnfinished(db: Queryable, { workspaceId, environments }: TenantScope): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'deliveries-count-unfinished',
    text: `
      select count(*)::integer as count
        from (select from webhooks.deliveries
               where workspace_id = $1 and environment = any($2) limit ${maxUnfinished}) as first`,
    values: [workspaceId, environments],
  });
  return rows[0]?.count ?? 0;
}
