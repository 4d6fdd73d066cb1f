import type { Queryable } from '@rms/db';
import type { ResourceStatus, Tenant } from '../resource/resource.ts';

const shards = 16;

/** The shard that one transaction adds to. */
export function randomShard(): number {
  return Math.floor(Math.random() * shards);
}

/** A change of one total. */
export interface CountChange extends Tenant {
  readonly status: ResourceStatus;
  readonly change: number;
}

/**
 * Adds to the totals, in the order of their keys, so that two transactions never wait for each other in a circle. Part of
 * the transaction that makes the change: the totals are exact.
 */
export async function addCounts(tx: Queryable, changes: readonly CountChange[]): Promise<void> {
  const sums = sumUp(changes);
  if (sums.length === 0) return;
  await tx.query({
    name: 'counts-add',
    text: `
      insert into resources.resource_counts as counts (workspace_id, environment, status, shard, count)
      select workspace_id, environment, status, $5, change
        from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as c (workspace_id, environment, status, change)
       order by workspace_id collate "C", environment collate "C", status collate "C"
          on conflict (workspace_id, environment, status, shard) do update set count = counts.count + excluded.count`,
    values: [
      sums.map(({ workspaceId }) => workspaceId),
      sums.map(({ environment }) => environment),
      sums.map(({ status }) => status),
      sums.map(({ change }) => change),
      randomShard(),
    ],
  });
}

function sumUp(changes: readonly CountChange[]): CountChange[] {
  const sums = new Map<string, CountChange>();
  for (const change of changes) {
    const key = `${change.workspaceId}/${change.environment}/${change.status}`;
    sums.set(key, { ...change, change: (sums.get(key)?.change ?? 0) + change.change });
  }
  return [...sums.values()].filter(({ change }) => change !== 0);
}
