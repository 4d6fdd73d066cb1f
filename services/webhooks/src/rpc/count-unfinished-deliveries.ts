import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type TenantScope, toScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import type { HandlerParts } from './parts.ts';

export function countUnfinishedDeliveries({
  pool,
}: HandlerParts): Handlers<typeof DeliveriesService>['countUnfinishedDeliveries'] {
  return async (request) => {
    const { count, oldestAt } = await countUnfinished(pool, toScope(request));
    return { count, ...(oldestAt ? { oldestCreateTime: timestampFromDate(oldestAt) } : {}) };
  };
}

/** Counting stops here, because a backlog can be arbitrarily long. */
export const maxUnfinished = 10_000;

/** Deliveries that have not ended. */
interface Unfinished {
  /** At most {@link maxUnfinished}. */
  readonly count: number;
  /** Creation of the oldest of those that are counted; null if there are none. */
  readonly oldestAt: Date | null;
}

/**
 * Counts deliveries that have not ended. Scans one range of the primary key, where the oldest events' deliveries are
 * first.
 */
export async function countUnfinished(db: Queryable, { workspaceId, environments }: TenantScope): Promise<Unfinished> {
  const { rows } = await db.query<Unfinished>({
    name: 'deliveries-count-unfinished',
    text: `
      select count(*)::integer as count, min(created_at) as "oldestAt"
        from (select created_at from webhooks.deliveries
               where workspace_id = $1 and environment = any($2)
               order by workspace_id, environment, id limit ${maxUnfinished}) as first`,
    values: [workspaceId, environments],
  });
  return rows[0] ?? { count: 0, oldestAt: null };
}
