import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { ResourceStatus } from './resource.ts';

const shards = 16;

/** Returns a random shard. Each transaction adds its counts to one shard, so that writers rarely block each other. */
export function randomShard(): number {
  return Math.floor(Math.random() * shards);
}

/** A change to one of the totals. */
export interface CountChange extends Tenant {
  readonly status: ResourceStatus;
  readonly change: number;
}

/** Returns the number of resources of a workspace, in both environments. */
export async function countResources(db: Queryable, workspaceId: string): Promise<bigint> {
  const { rows } = await db.query<{ count: string }>(
    `select coalesce(sum(count), 0) as count from resources.resource_counts
      where workspace_id = $1 and environment in ('live', 'sandbox')`,
    [workspaceId],
  );
  return BigInt(rows[0]?.count ?? 0);
}

export function sumUp(changes: readonly CountChange[]): CountChange[] {
  const sums = new Map<string, CountChange>();
  for (const change of changes) {
    const key = `${change.workspaceId}/${change.environment}/${change.status}`;
    sums.set(key, { ...change, change: (sums.get(key)?.change ?? 0) + change.change });
  }
  return [...sums.values()].filter(({ change }) => change !== 0);
}
